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
//   "fail STATUS"       an error with that HTTP status
//
// EVERTHREAD_TEST_SCRIPT names a JSON file {user message: answer} that comes
// first. A request for the summary of a day gets an extractive one.

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
  const lines = [...text.matchAll(/^\[#(\d+)\] (user|assistant) \([^)]*\): (.*)$/gm)].map(([, id, role, said]) => ({ id, role, said }));
  const before = (heading) =>
    (text.match(new RegExp(`<summary>[^]*?## ${heading}\\n([^]*?)(?:\\n## |\\n</summary>)`))?.[1] ?? "").split("\n").filter((l) => l.startsWith("- "));
  const pick = (role, pattern) => lines.filter((l) => l.role === role && pattern.test(l.said)).map((l) => `- ${l.said} [#${l.id}]`);
  const section = (heading, found, most) => {
    const bullets = [...before(heading), ...found].slice(-most);
    return bullets.length ? `\n\n## ${heading}\n${bullets.join("\n")}` : "";
  };
  const first = text.match(/<summary>\n## Summary\n(.*)/)?.[1] ?? lines.find((l) => l.role === "user")?.said ?? "";
  return `## Summary\n${first}` +
    section("Goals", pick("user", /want|would like|envie|veux/i), 3) +
    section("Decisions", pick("assistant", /decided|noted|booked|settled|noté|d'accord|^Agreed/i), 10) +
    section("Open loops", pick("assistant", /still|reste|to do/i), 4) +
    section("Next steps", pick("assistant", /first coat|then go|demande/i), 3);
}

function reply(request) {
  if (text(request.messages[0]?.content).startsWith("You write the summary of one day")) {
    return { content: summary(lastOf(request.messages, "user")) };
  }
  if (request.messages.at(-1)?.role === "tool") {
    return { content: `tool said: ${lastOf(request.messages, "tool")}` };
  }
  const said = lastOf(request.messages, "user").replace(/^\[\w{3} \d+ \w{3}(?: \d{4})? \d\d:\d\d\] /, "");
  if (script[said]) {
    return { content: script[said] };
  }
  let found;
  if ((found = said.match(/^say (\d+) words$/))) {
    return { content: Array.from({ length: Number(found[1]) }, (_, i) => `word${i + 1}`).join(" ") };
  }
  if ((found = said.match(/^call (\w+)(?: ([^]*))?$/))) {
    return { toolCalls: [{ name: found[1], arguments: found[2] ?? "{}" }] };
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
