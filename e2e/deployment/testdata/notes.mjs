// A server of tools on standard input and output, on Node as most are.
import { createInterface } from "node:readline";

const answers = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "count", description: "Counts notes.", inputSchema: { type: "object", properties: {} } }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result: answers[method]?.(params) ?? {} }));
}
