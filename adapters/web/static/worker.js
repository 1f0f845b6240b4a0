// The service worker. It caches the shell of the page and nothing of a conversation.
// Without network it shows a page that says so (offline.js).
"use strict";
const { mine, version, page, files } = SHELL; // filled in by the server
const kept = mine + "shell-" + version;
self.addEventListener("install", (e) => e.waitUntil(caches.open(kept).then((c) => c.addAll([page, ...files]))));
// A newer worker waits until no page of an older one is open: one that took over
// immediately could delay a page that is being opened.
self.addEventListener("activate", (e) => e.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith(mine) && name !== kept) await caches.delete(name); // others may share the origin
  await self.clients.claim();
})()));
const find = (what) => caches.match(what, { ignoreVary: true });
async function visit(e) {
  try {
    return await fetch(e.request);
  } catch {
    return (await find(page)) || Response.error();
  }
}
self.addEventListener("fetch", (e) => {
  const { method, mode, url } = e.request;
  if (method !== "GET") return;
  if (mode === "navigate") e.respondWith(visit(e));
  else if (files.includes(new URL(url).pathname)) e.respondWith(find(url).then((r) => r || fetch(e.request)));
});
