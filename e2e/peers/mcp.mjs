// Talks to a gateway with the official MCP client, over HTTP or to a program on
// its standard input and output, and prints what it saw as one line of JSON.
//
//   EVERTHREAD_TEST_AIMOCK=$(scripts/peers.sh) node e2e/peers/mcp.mjs http URL KEY
//   EVERTHREAD_TEST_AIMOCK=$(scripts/peers.sh) node e2e/peers/mcp.mjs stdio PROGRAM ARGUMENT…

import { createRequire } from "node:module";
import { realpathSync } from "node:fs";

const need = createRequire(realpathSync(process.env.EVERTHREAD_TEST_AIMOCK));
const { Client } = need("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = need("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { StdioClientTransport } = need("@modelcontextprotocol/sdk/client/stdio.js");

const [how, target, ...more] = process.argv.slice(2);
const transport = how === "http"
  ? new StreamableHTTPClientTransport(new URL(`${target}/mcp`), { requestInit: { headers: { Authorization: `Bearer ${more[0]}` } } })
  : new StdioClientTransport({ command: target, args: more, env: process.env, stderr: "inherit" });
const client = new Client({ name: "everthread-peers", version: "1.0.0" });
const call = async (name, args) => {
  const r = await client.callTool({ name, arguments: args });
  return { failed: r.isError ?? false, text: r.content.map((c) => c.text).join("") };
};
const refused = (work) => work().then(() => "no error", (e) => ({ code: e.code, text: String(e.message) }));

await client.connect(transport);
const seen = { server: client.getServerVersion()?.name };
seen.tools = (await client.listTools()).tools.map((t) => t.name).sort();
seen.added = await call("memory_add", { content: `The boat is called Kestrel (${how}).`, type: "fact", theme: "boat" });
seen.remembered = await call("memory_search", { query: "boat" });
seen.found = await call("conversation_search", { query: "harbour" });
const hit = JSON.parse(seen.found.text).results.find((r) => r.kind === "message");
seen.got = await call("conversation_get", { message_id: hit.message_id });
seen.wrong = await call("conversation_get", { message_id: 987654 }).catch((e) => ({ code: e.code, text: e.message }));
seen.days = (await client.listResources()).resources.map((r) => r.uri);
seen.day = (await client.readResource({ uri: seen.days[0] })).contents[0].text;
seen.nothing = await refused(() => client.readResource({ uri: "everthread://days/1999-01-01" }));
seen.unknown = await refused(async () => { const r = await client.callTool({ name: "conversation_delete", arguments: {} }); if (r.isError) throw new Error(r.content[0].text); });
await client.close();
console.log(JSON.stringify(seen));
