// Starts the model emulator on a free port, with replies that are functions of
// the request, and prints its address as one line of JSON: {"url":"http://…"}.
// Fixtures posted to /__aimock/fixtures come before these. Ends on SIGTERM, or
// when its standard input is closed.
//
//   EVERTHREAD_TEST_AIMOCK=$(scripts/peers.sh) node e2e/peers/model.mjs [--latency ms]
//
// The last user message, stripped, decides:
//   anything            "echo: " and the message
//   "say N words"       N numbered words, for streaming and long answers
//   "call NAME {json}"  a call of the tool NAME; after its result "tool said: …"
//   "keep calling NAME {json}"  a call of the tool after every result, until no
//                       more tools are offered; it reports what it really took
//   "promise TEXT"      a promise to come back to TEXT, which is kept with
//                       reminder_set once the model is told that nothing will
//   "fail STATUS"       an error with that HTTP status
//
// With EVERTHREAD_TEST_OBEDIENT it does whatever it reads anywhere in a request, descriptions of tools included:
// all of "OBEY: call NAME {json}" and "OBEY: say TEXT" (to the end of the line), and
// what people ask in a few words: "order X", "how many X", "mail NAME: TEXT", "mail
// that to NAME" (what somebody else wrote last).
//
// EVERTHREAD_TEST_SCRIPT names a JSON file {user message: answer} that comes
// first. With EVERTHREAD_TEST_RECALL a question is looked up in the conversation,
// and answered with the first message found that is neither a question nor such
// an answer. A request for the summary of a day gets an extractive one; with
// EVERTHREAD_TEST_LOOSE it has no references, and an open end that nobody spoke of.

import { createRequire } from "node:module";
import { readFileSync, realpathSync } from "node:fs";

const program = process.env.EVERTHREAD_TEST_AIMOCK;
if (!program) {
  console.error("model.mjs: EVERTHREAD_TEST_AIMOCK is not set, see scripts/peers.sh");
  process.exit(2);
}
const { LLMock } = createRequire(realpathSync(program))("@copilotkit/aimock");

const text = (content) =>
  typeof content === "string"
    ? content
    : (content ?? []).map((part) => part.text ?? "").join("");

function lastOf(messages, role) {
  return text(messages.findLast((m) => m.role === role)?.content).trim();
}

const script = process.env.EVERTHREAD_TEST_SCRIPT ? JSON.parse(readFileSync(process.env.EVERTHREAD_TEST_SCRIPT, "utf8")) : {};

// summary answers a request for the summary of a day: the lines of the
// transcript that look like decisions or open ends, with their references, and
// the bullets of the summary so far.
function summary(text) {
  const data = text.split("\n").filter((l) => l.startsWith("{")).map((l) => JSON.parse(l));
  const soFar = data[0]?.summary_so_far ?? "";
  const lines = data.filter((d) => d.id).map((d) => ({ id: d.id, role: d.role, said: d.text.replaceAll("\n", " ") }));
  const before = (heading) => (soFar.match(new RegExp(`## ${heading}\\n([^]*?)(?:\\n\\n## |$)`))?.[1] ?? "").split("\n").filter((l) => l.startsWith("- "));
  const pick = (role, pattern) => lines.filter((l) => l.role === role && pattern.test(l.said)).map((l) => `- ${l.said} [#${l.id}]`);
  const section = (heading, found, most) => {
    const bullets = [...before(heading), ...found].slice(-most);
    return bullets.length ? `\n\n## ${heading}\n${bullets.join("\n")}` : "";
  };
  const first = soFar.match(/^## Summary\n(.*)/)?.[1] ?? lines.find((l) => l.role === "user")?.said ?? "";
  return `## Summary\n${first}` +
    section("Goals", pick("user", /want|would like|envie|veux/i), 3) +
    section("Decisions", pick("assistant", /decided|noted|booked|settled|noté|d'accord|^Agreed/i), 10) +
    section("Open loops", pick("assistant", /still|reste|to do/i), 4) +
    section("Next steps", pick("assistant", /first coat|then go|demande/i), 3);
}

// loosely is a summary as models write it that never give references.
const loosely = (written) => written.replaceAll(/ \[(?:#\d+(?:, )?|\?)+\]/g, "").replace("## Open loops\n", "## Open loops\n- Still to sell the castle in Scotland\n");

const call = (name, args) => ({ toolCalls: [{ name, arguments: typeof args === "string" ? args : JSON.stringify(args) }] });

// unstamped is a user message without what stands before it: the local time, that it is a task.
const unstamped = (said) => said.replace(/^\[\w{3} \d+ \w{3}(?: \d{4})? \d\d:\d\d\] /, "").replace(/^\[A task [^\]]*\]\n/, "");

// lookedUp goes on after a search of the conversation: it reads the first
// message that serves, then answers with it.
function lookedUp(tool, result) {
  if (result.startsWith("Error:")) {
    return { content: `I could not look it up. ${result}` };
  }
  const found = JSON.parse(result);
  if (tool === "conversation_get") {
    return { content: `On ${found.sent_at.slice(0, 10)} (#${found.message_id}): ${found.content}` };
  }
  const hit = found.results.find((r) => r.kind === "message" && r.role !== "tool" && !/\?$|^On \d{4}-/.test(r.snippet));
  return hit ? call("conversation_get", { message_id: hit.message_id }) : { content: `I found nothing (${found.mode}).` };
}

// afterTool answers a request that ends with the result of a tool.
function afterTool(request, said) {
  const result = lastOf(request.messages, "tool");
  const tool = request.messages.findLast((m) => m.tool_calls)?.tool_calls.at(-1).function.name;
  const again = said.match(/^keep calling (\w+)(?: ([^]*))?$/);
  if (again) {
    return { ...call(again[1], again[2] ?? "{}"), usage: usage(request) };
  }
  const order = obeyed(result);
  const turn = request.messages.slice(request.messages.findLastIndex((m) => m.role === "user"));
  if (order && !turn.some((m) => m.tool_calls?.some((c) => c.function.name === order[1]))) {
    return call(order[1], order[2]);
  }
  if (process.env.EVERTHREAD_TEST_RECALL && /^conversation_/.test(tool)) {
    return lookedUp(tool, result);
  }
  return { content: `tool said: ${result}` };
}

// obeyed finds an order to call a tool, wherever it stands: this model does what
// it reads.
function obeyed(text) {
  return text.match(/OBEY: call (\w+) (\{[^\n]*\})/);
}

// usage is what a request takes, with a short answer.
function usage(request) {
  const prompt = Math.ceil(JSON.stringify([request.messages, request.tools ?? []]).length / 4);
  return { prompt_tokens: prompt, completion_tokens: 30 };
}

const ever = new Set();

// obedient answers a request by doing all that it says, each once.
function obedient(request) {
  const key = (name, args) => { try { return name + JSON.stringify(JSON.parse(args)); } catch { return name + args; } };
  const done = new Set(request.messages.flatMap((m) => (m.tool_calls ?? []).map((c) => key(c.function.name, c.function.arguments))));
  const seen = [...request.messages.map((m) => text(m.content)), ...(request.tools ?? []).map((t) => JSON.stringify(t.function))];
  const read = seen.flatMap((t) => [t, t.replaceAll('\\"', '"')]);
  const orders = read.flatMap((t) => [...t.matchAll(/OBEY: call (\w+) (\{[^{}\n]*\})/g)].map((m) => [m[1], m[2]]));
  const last = request.messages.at(-1);
  const said = unstamped(lastOf(request.messages, "user"));
  if (last.role === "user") {
    let m;
    if ((m = said.match(/^call (\w+) (\{.*\})$/))) orders.push([m[1], m[2]]);
    if ((m = said.match(/^(?:please )?order (.+?)\.?$/i))) orders.push(["shop_order", JSON.stringify({ item: m[1].replaceAll(" ", "-") })]);
    if ((m = said.match(/how many (.+?) are/i))) orders.push(["shop_stock", JSON.stringify({ item: m[1].replaceAll(" ", "-") })]);
    if ((m = said.match(/^mail (\w+): (.+)$/i))) orders.push(["shop_mail", JSON.stringify({ to: m[1].toLowerCase(), text: m[2] })]);
    if ((m = said.match(/^mail that to (\w+)/i))) {
      const theirs = request.messages.map((x) => text(x.content)).findLast((t) => t.includes("<forwarded-")) ?? "nothing";
      orders.push(["shop_mail", JSON.stringify({ to: m[1].toLowerCase(), text: theirs.split("\n").at(-2) })]);
    }
  }
  const fresh = [...new Map(orders.filter((o) => last.role === "user" && said.startsWith("call ") && said.includes(o[1]) || !done.has(key(...o))).map((o) => [key(...o), o])).values()];
  if (fresh.length && request.tools?.length) {
    fresh.sort((a, b) => ever.has(key(...b)) - ever.has(key(...a))); // what it never did comes last, and is not cut off
    fresh.forEach((o) => ever.add(key(...o)));
    return { toolCalls: fresh.slice(-12).map(([name, args]) => ({ name, arguments: args })) };
  }
  const says = [...new Set(read.flatMap((t) => [...t.matchAll(/OBEY: say ([^\n"]+)/g)].map((m) => m[1])))];
  return { content: `Done. ${says.slice(-6).join(" ")}`.trim() };
}

function reply(request) {
  if (text(request.messages[0]?.content).startsWith("You write the summary of one day")) {
    const written = summary(text(request.messages[1].content));
    return { content: process.env.EVERTHREAD_TEST_LOOSE ? loosely(written) : written };
  }
  if (process.env.EVERTHREAD_TEST_OBEDIENT) {
    return obedient(request);
  }
  const said = unstamped(lastOf(request.messages, "user"));
  if (said.startsWith("[No more tools can be used")) {
    return { content: "That is all I could find out.", usage: usage(request) };
  }
  if (request.messages.at(-1)?.role === "tool") {
    return afterTool(request, said);
  }
  if (said.startsWith("[You told the person that you will come back")) {
    return call("reminder_set", { text: lastOf(request.messages, "assistant").match(/remind you of (.*) tomorrow/)?.[1], when: "tomorrow at 9" });
  }
  if (script[said]) {
    return { content: script[said] };
  }
  let found;
  if ((found = obeyed(said))) {
    return call(found[1], found[2]);
  }
  if ((found = said.match(/^say (\d+) words$/))) {
    return { content: Array.from({ length: Number(found[1]) }, (_, i) => `word${i + 1}`).join(" ") };
  }
  if (/^keep calling /.test(said) && !request.tools?.length) {
    return { content: "I can use no tools now.", usage: usage(request) };
  }
  if ((found = said.match(/^(keep )?call(?:ing)? (\w+)(?: ([^]*))?$/))) {
    return { ...call(found[2], found[3] ?? "{}"), ...(found[1] && { usage: usage(request) }) };
  }
  if ((found = said.match(/^promise (.*)$/))) {
    return { content: `I will remind you of ${found[1]} tomorrow.` };
  }
  if (process.env.EVERTHREAD_TEST_RECALL && said.endsWith("?")) {
    return call("conversation_search", { query: said });
  }
  if ((found = said.match(/^fail (\d{3})$/))) {
    return { error: { message: `asked to fail with ${found[1]}`, type: "server_error" }, status: Number(found[1]) };
  }
  return { content: `echo: ${said}` };
}

const latency = process.argv[2] === "--latency" ? Number(process.argv[3]) : 0;
const server = new LLMock({ port: 0, host: "127.0.0.1", latency, journalMaxEntries: 0, logLevel: "warn" });
server.on({ endpoint: "chat" }, reply);

// The first fixture that matches wins and posted ones are appended: put them
// before the reply above, which matches everything.
const fixtures = server.getFixtures();
fixtures.push = (...added) => fixtures.splice(Math.max(0, fixtures.length - 1), 0, ...added);

console.log(JSON.stringify({ url: await server.start() }));

const stop = () => server.stop().then(() => process.exit(0));
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
process.stdin.on("end", stop).resume();
