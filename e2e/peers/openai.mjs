// Talks to a gateway with the official client of OpenAI, and prints what it saw
// as one line of JSON: {scene: what came of it}.
//
//   EVERTHREAD_TEST_AIMOCK=$(scripts/peers.sh) node e2e/peers/openai.mjs URL KEY
//
// The model behind the gateway is model.mjs, with a latency that lets an answer
// be cut off before it is whole.

import { createRequire } from "node:module";
import { realpathSync } from "node:fs";

const OpenAI = createRequire(realpathSync(process.env.EVERTHREAD_TEST_AIMOCK))("openai");
const [url, key] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0, timeout: 30_000 });
const model = "everthread";
const user = (content) => ({ role: "user", content });

// refused is what the client makes of an error.
const refused = async (work) => {
  try {
    await work();
    return "no error";
  } catch (e) {
    return { name: e.constructor.name, status: e.status, type: e.type, code: e.code, param: e.param };
  }
};

const tools = [{ type: "function", function: { name: "weather", description: "The weather of a city", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } } }];
const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const scenes = {
  async models() {
    const out = [];
    for await (const m of await client.models.list()) out.push(m.id);
    return out;
  },
  async whole() {
    const r = await client.chat.completions.create({ model, messages: [{ role: "system", content: "Be brief." }, user("hello from the SDK")] });
    return { text: r.choices[0].message.content, finish: r.choices[0].finish_reason, object: r.object, tokens: r.usage.total_tokens > 0 };
  },
  async stream() {
    const chunks = await client.chat.completions.create({ model, messages: [user("say 30 words")], stream: true, stream_options: { include_usage: true } });
    let text = "", pieces = 0, finish, tokens;
    for await (const c of chunks) {
      const more = c.choices[0]?.delta?.content;
      if (more) { text += more; pieces++; }
      finish = c.choices[0]?.finish_reason ?? finish;
      tokens = c.usage?.total_tokens ?? tokens;
    }
    return { words: text.split(/\s+/).length, last: text.split(/\s+/).at(-1), grew: pieces > 3, finish, tokens: tokens > 0 };
  },
  async helper() {
    const s = client.chat.completions.stream({ model, messages: [user("say 12 words")] });
    return { text: await s.finalContent(), finish: (await s.finalChatCompletion()).choices[0].finish_reason };
  },
  async tools() {
    const asked = [user('call weather {"city":"Oslo"}')];
    const first = await client.chat.completions.create({ model, messages: asked, tools });
    const m = first.choices[0].message;
    const call = m.tool_calls[0];
    const second = await client.chat.completions.create({ model, tools, messages: [...asked, m, { role: "tool", tool_call_id: call.id, content: "rain, 4 degrees" }] });
    return { finish: first.choices[0].finish_reason, name: call.function.name, args: JSON.parse(call.function.arguments), text: second.choices[0].message.content };
  },
  async runner() {
    const seen = [];
    const run = client.chat.completions.runTools({ model, stream: true, messages: [user('call clock {"zone":"UTC"}')],
      tools: [{ type: "function", function: { name: "clock", parse: JSON.parse, function: (a) => { seen.push(a.zone); return "noon"; }, description: "The time", parameters: { type: "object", properties: { zone: { type: "string" } } } } }] });
    return { text: await run.finalContent(), seen };
  },
  async image() {
    const r = await client.chat.completions.create({ model, messages: [user([{ type: "text", text: "what is this?" }, { type: "image_url", image_url: { url: png } }])] });
    return r.choices[0].message.content;
  },
  async embeddings() {
    const input = ["the boat", "the harbour"];
    const float = await client.embeddings.create({ model: "embedded", input, encoding_format: "float" });
    const coded = await client.embeddings.create({ model: "embedded", input }); // base64, decoded by the client
    const near = float.data[1].embedding.every((x, i) => Math.abs(x - coded.data[1].embedding[i]) < 1e-6);
    return { count: coded.data.length, size: coded.data[0].embedding.length, near, tokens: coded.usage.total_tokens > 0 };
  },
  errors: async () => ({
    key: await refused(() => new OpenAI({ baseURL: `${url}/v1`, apiKey: "et_wrong", maxRetries: 0 }).models.list()),
    model: await refused(() => client.chat.completions.create({ model: "gpt-4o", messages: [user("x")] })),
    empty: await refused(() => client.chat.completions.create({ model, messages: [] })),
    result: await refused(() => client.chat.completions.create({ model, messages: [user("x"), { role: "tool", tool_call_id: "call_nobody", content: "y" }] })),
    picture: await refused(() => client.chat.completions.create({ model, messages: [user([{ type: "image_url", image_url: { url: "https://example.org/x.png" } }])] })),
  }),
  async abort() {
    const stream = await client.chat.completions.create({ model, messages: [user("say 60 words")], stream: true });
    let pieces = 0;
    for await (const c of stream) {
      if (c.choices[0]?.delta?.content && ++pieces === 3) break; // which aborts the request
    }
    return { pieces, aborted: stream.controller.signal.aborted };
  },
  async again() {
    const ask = () => client.chat.completions.create({ model, messages: [user("only once, please")] }, { headers: { "Idempotency-Key": "4711" } });
    const [a, b] = await Promise.all([ask(), ask()]);
    return { same: a.choices[0].message.content === b.choices[0].message.content, id: a.id === b.id };
  },
};

const seen = {};
for (const [name, play] of Object.entries(scenes)) {
  seen[name] = await play().catch((e) => ({ error: String(e), status: e.status }));
}
console.log(JSON.stringify(seen));
