// Without network: messages wait in this browser, marked as not sent. They are sent
// once, in order, when the network is back. Each keeps its nonce, so that sending it
// again is harmless. Nothing else of a conversation is stored.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const box = $("outbox"), offline = $("offline"), write = $("write");
  const { below, mine, local, tab } = window.everthread;

  // ---- The browser's user: nothing remains after signing out, or of an earlier user. ----
  const owner = offline ? local.get("user") : document.body.dataset.user;
  const opened = (request) => new Promise((yes, no) => {
    request.onsuccess = () => yes(request.result);
    request.onerror = request.onblocked = () => no(request.error);
  });
  async function forget() {
    local.drop(/^(user|seen|push)$/);
    tab.drop(/./);
    await opened(indexedDB.deleteDatabase("everthread" + below)).catch(() => {});
    for (const name of await caches.keys()) if (name.startsWith(mine)) await caches.delete(name);
    await (await navigator.serviceWorker.getRegistration(below + "/"))?.unregister();
  }
  if (!owner) {
    if (offline) offline.classList.add("nobody");
    else if ($("bye")) forget().catch(() => {}); // without a worker there is nothing to forget
    else local.set("user");
    return;
  }

  // ---- The outbox. ----
  async function rows(mode, act) {
    const r = indexedDB.open("everthread" + below, 1);
    r.onupgradeneeded = () => r.result.createObjectStore("outbox", { keyPath: "n", autoIncrement: true });
    const db = await opened(r);
    try {
      return await new Promise((yes, no) => {
        const t = db.transaction("outbox", mode), asked = act(t.objectStore("outbox"));
        t.oncomplete = () => yes(asked.result);
        t.onerror = t.onabort = () => no(t.error);
      });
    } finally { db.close(); }
  }
  let items = [], sending = null;
  const news = "BroadcastChannel" in window ? new BroadcastChannel(mine + "outbox") : null; // to other tabs
  if (news) news.onmessage = () => refresh();
  async function refresh() {
    const all = await rows("readonly", (s) => s.getAll()).catch(() => []);
    items = [...all.filter((x) => x.user === owner), ...items.filter((x) => !x.n)]; // those without n could not be stored
    if (!offline) for (const x of all) if (x.user !== owner) await drop(x);
    show();
  }
  const nonceOf = (x) => x.parts.find(([name]) => name === "nonce")?.[1];
  const release = (x) => tab.set("held:" + nonceOf(x));
  async function drop(x) {
    release(x);
    await rows("readwrite", (s) => s.delete(x.n)).catch(() => {});
    items = items.filter((y) => y !== x && (!y.n || y.n !== x.n));
    news?.postMessage("");
    show();
  }
  async function put(x) {
    try {
      const n = await rows("readwrite", (s) => s.put(x));
      news?.postMessage("");
      return n;
    } catch {
      return 0;
    }
  }
  function element(name, text, kind) {
    const el = document.createElement(name);
    el.textContent = text;
    el.className = kind || "";
    if (kind === "outbox-text") el.dir = "auto";
    return el;
  }
  function button(text, x, act) {
    const b = element("button", text, "quiet-button");
    b.type = "button";
    b.setAttribute("aria-label", text + ": " + words(x).slice(0, 60));
    b.addEventListener("click", act);
    return b;
  }
  const clock = (at) => {
    const today = new Date(at).toDateString() === new Date().toDateString();
    return new Intl.DateTimeFormat(document.documentElement.lang, { ...(today ? {} : { weekday: "long", day: "numeric", month: "long" }),
      hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(at);
  };
  // The parts of a message are the fields of its form.
  const words = (x) => x.parts.filter(([name, v]) => v instanceof File || name === "text").map(([, v]) => v.name ?? v).filter(Boolean).join("\n");
  function show() {
    const list = document.createElement("ul");
    for (const x of items) {
      const li = document.createElement("li"), said = x.error ? box.dataset.refused + " " + x.error : x === sending ? box.dataset.sending : box.dataset.waits;
      li.append(element("p", words(x), "outbox-text"),
        element("p", clock(x.at) + " · ", "quiet"));
      li.lastChild.append(element("span", said, "state " + (x.error ? "failed" : "pending")));
      if (x.error) li.lastChild.append(" ", button(box.dataset.again, x, async () => { delete x.error; await put(x); show(); flush(); }));
      if (x !== sending) li.lastChild.append(" ", button(box.dataset.drop, x, () => drop(x)));
      list.append(li);
    }
    const at = box.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
    box.querySelector("ul")?.remove();
    if (items.length) box.append(list);
    // The focus stays in the list; when the list is gone, it moves to the composer.
    if (at) ([...list.querySelectorAll("button")].find((b) => b.getAttribute("aria-label") === at) || list.querySelector("button") || $("text") || $("later"))?.focus();
    note();
  }

  // ---- The time since the connection was lost. ----
  let lost = 0;
  const seen = () => local.set("seen", String(Date.now()));
  function note() {
    const p = box.querySelector("p.note"), since = offline ? Number(local.get("seen")) : lost;
    p.hidden = !lost && !offline;
    p.textContent = p.hidden ? "" : (since ? box.dataset.since.replace("{time}", clock(since)) : box.dataset.lost) + " " + (offline ? "" : box.dataset.kept);
    box.hidden = p.hidden && !items.length;
  }
  function connection(there) {
    if (there === !lost) return;
    lost = there ? 0 : Date.now();
    seen();
    note();
    if (there) flush();
  }
  let patience;
  document.addEventListener("connection", (e) => { // of the live updates; a short gap is ignored
    clearTimeout(patience);
    if (e.detail && !navigator.onLine) flush(true); // they may have begun just before the network was lost
    else if (e.detail) connection(true);
    else if (!lost) patience = setTimeout(() => { if (!document.hidden) connection(false); }, 4000);
  });
  window.addEventListener("offline", () => connection(false));
  window.addEventListener("online", () => flush(true));
  window.addEventListener("pagehide", () => { if (!lost && !offline) seen(); });

  // ---- Sending: one message after the other, in one tab at a time. ----
  let busy = false, again;
  async function flush(ask) {
    clearTimeout(again);
    if (busy) return;
    busy = true;
    const turn = async (lock) => { if (lock !== null) await sendAll(ask); };
    try {
      await (navigator.locks ? navigator.locks.request(mine + "outbox", { ifAvailable: true }, turn) : turn());
    } finally {
      busy = false;
      sending = null;
      show();
    }
    if (lost || offline || items.some((x) => !x.error)) again = setTimeout(() => flush(true), 5000);
  }
  async function sendAll(ask) {
    await refresh();
    for (const x of [...items]) {
      if (x.error) continue;
      sending = x;
      show();
      const body = new FormData();
      for (const [name, value] of x.parts) body.append(name, value);
      const r = await fetch(below + "/messages", { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
      if (!r) { connection(false); return; }
      seen();
      if (r.ok) { await drop(x); continue; }
      const why = (await r.json().catch(() => ({}))).error || String(r.status);
      if (r.status === 401) local.set("user");
      if (r.status === 401 || r.status === 429 || r.status >= 500) return;
      x.error = why;
      await put(x);
    }
    if (!ask) return;
    if (!(await fetch(below + "/manifest.webmanifest", { cache: "no-store" }).catch(() => null))) return;
    connection(true);
    if (!offline) return;
    seen();
    if ($("later").value.trim()) $("back").hidden = false;
    else location.reload();
  }

  // ---- Writing: the composer offers a message, and clears it once it is stored here. ----
  // Storing takes a moment, in which the page may be left: until then its words are also kept in this tab.
  async function hold(parts, at = Date.now()) {
    const x = { user: owner, at, parts };
    tab.set("held:" + nonceOf(x), JSON.stringify({ ...x, parts: parts.filter(([, v]) => typeof v === "string") }));
    x.n = await put(x); // it is shown as waiting once it is stored
    if (x.n) release(x);
    else items.push(x);
    await refresh();
    if (!lost && !offline) flush();
  }
  // restore stores the messages of a page that was left too early.
  async function restore() {
    for (const copy of tab.names().filter((name) => name.startsWith("held:"))) {
      const x = JSON.parse(tab.get(copy));
      if (x?.user === owner && !items.some((y) => nonceOf(y) === nonceOf(x))) await hold(x.parts, x.at);
      else tab.set(copy);
    }
  }
  if (write) {
    $("composer").prepend(box);
    write.addEventListener("hold", (e) => {
      if (!e.detail.failed && navigator.onLine && !items.length) return;
      e.preventDefault();
      if (e.detail.failed) connection(false);
      hold([...e.detail.body]);
      clearTimeout(again);
      again = setTimeout(() => flush(true), 5000);
    });
  }
  if (offline) {
    const form = $("write-later"), text = $("later");
    const theme = local.get("theme");
    if (theme) document.documentElement.dataset.theme = theme;
    offline.querySelector(".lead").after(box);
    text.value = tab.get("draft:offline") || "";
    text.addEventListener("input", () => tab.set("draft:offline", text.value));
    const submit = (e) => {
      e.preventDefault();
      if (!text.value.trim()) return;
      const thread = /^\/threads\/(\d+)/.exec(location.pathname.slice(below.length))?.[1] || "";
      const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
      hold([["account", owner], ["nonce", nonce], ["thread", thread], ["text", text.value]]);
      text.value = "";
      tab.set("draft:offline");
      text.focus();
    };
    form.addEventListener("submit", submit);
    $("again").addEventListener("click", () => location.reload());
    again = setTimeout(() => flush(true), 2000);
  } else {
    local.set("user", owner);
    local.set("theme", document.documentElement.dataset.theme);
    seen();
    navigator.serviceWorker?.register(below + "/worker.js?lang=" + document.documentElement.lang).catch(() => {});
    $("signout")?.addEventListener("submit", (e) => {
      if (items.length && !confirm(box.dataset.leave)) e.preventDefault();
    });
  }
  refresh().then(restore).then(() => { if (items.length && !offline) flush(); });
})();
