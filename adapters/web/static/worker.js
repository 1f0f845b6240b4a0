// The service worker. It caches the shell of the page and nothing of a conversation.
// Without network it shows a page that says so (offline.js). It shows notifications while no page is looked at.
"use strict";
const { mine, version, page, files, icon } = SHELL; // filled in by the server
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

// ---- Notifications: the gateway names a path below the scope of this worker. ----
const pages = () => self.clients.matchAll({ type: "window", includeUncontrolled: true });
const below = (path) => new URL(path, self.registration.scope).href;
self.addEventListener("push", (e) => e.waitUntil((async () => {
  const { body, path, tag } = e.data.json();
  const seen = (await pages()).some((p) => p.focused && p.visibilityState === "visible");
  if (seen && tag !== "test") return;
  await self.registration.showNotification("Everthread", { body, tag, icon, data: path });
})()));
self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil((async () => {
    const to = below(e.notification.data), [open] = await pages();
    if (open) {
      try {
        await open.focus();
        if (await open.navigate(to)) return;
      } catch { /* a page that this worker does not control is left alone */ }
    }
    await self.clients.openWindow(to);
  })());
});
self.addEventListener("pushsubscriptionchange", (e) => e.waitUntil((async () => {
  const { key } = await (await fetch(below("settings/push/key"))).json();
  const one = (e.newSubscription || await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key })).toJSON();
  await fetch(below("settings/push"), { method: "POST", headers: { Accept: "application/json" },
    body: new URLSearchParams({ endpoint: one.endpoint, ...one.keys, keep: "1" }) });
})()));
