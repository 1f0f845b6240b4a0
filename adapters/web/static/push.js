// Notifications while no page is open: a form with data-push has this browser subscribe. Settings show and end it.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const { below, local } = window.everthread;
  const remember = (on) => { for (const name of ["push", "notify"]) local.set(name, on ? "on" : "off"); };
  const why = () => !isSecureContext ? "insecure" : !("PushManager" in window) || !("Notification" in window) || !navigator.serviceWorker ? "unsupported" :
    Notification.permission === "denied" ? "denied" : "";
  const manager = async () => (await navigator.serviceWorker.ready).pushManager;
  const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

  // subscribe returns this browser's subscription to the key of the gateway. Permission is asked for first, while the click counts.
  async function subscribe() {
    if (await Notification.requestPermission() !== "granted") throw new Error("denied");
    const answer = await fetch(below + "/settings/push/key");
    if (!answer.ok) throw new Error(String(answer.status));
    const { key } = await answer.json(), push = await manager(), old = await push.getSubscription();
    if (old && base64(old.options.applicationServerKey) === key) return old;
    await old?.unsubscribe();
    return push.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  }
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (!form.matches("form[data-push]")) return;
    e.preventDefault();
    const button = form.querySelector("button"), failed = form.querySelector("[role=alert]");
    button.disabled = true;
    failed.hidden = true;
    try {
      const one = await subscribe();
      const body = new URLSearchParams(new FormData(form));
      body.set("endpoint", one.endpoint);
      body.set("p256dh", base64(one.getKey("p256dh")));
      body.set("auth", base64(one.getKey("auth")));
      const r = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } });
      const said = await r.json();
      if (!r.ok) throw new Error(said.error);
      remember(true);
      if (section) { location.reload(); return; }
      $("offer")?.remove();
      $("text")?.focus({ preventScroll: true });
      document.dispatchEvent(new CustomEvent("say", { detail: said.toast }));
    } catch (err) {
      failed.textContent = why() === "denied" || err.message === "denied" ? failed.dataset.denied : failed.dataset.failed;
      failed.hidden = false;
      button.disabled = false;
      button.focus();
    }
  });

  // ---- Settings: why it cannot be turned on here, and what the browser and the gateway know is made equal. ----
  const section = $("notifications");
  async function equal() {
    const on = section.dataset.on, one = await (await manager()).getSubscription();
    remember(on && one);
    if (on && !one) { // the browser ended it
      const r = await fetch(`${below}/settings/push/${on}/off`, { method: "POST", headers: { Accept: "application/json" } });
      if (r.ok) location.reload();
    } else if (!on && one) await one.unsubscribe();
  }
  if (section) {
    const cause = why(), note = section.querySelector(`[data-why="${cause}"]`);
    if (note) note.hidden = false;
    const form = section.querySelector("form[data-push]");
    if (form) form.hidden = !!cause;
    if (!cause) equal().catch(() => {});
  }

  // ---- The offer, once, when the first reminder has been set on this page. ----
  const offer = $("offer"), promises = $("promises");
  if (offer && promises && !why() && !local.get("offered")) {
    const reminders = () => [...promises.querySelectorAll("li[id^=r]")].map((x) => x.id).filter((id) => /^r\d+$/.test(id));
    const before = reminders();
    const watch = new MutationObserver(() => {
      if (reminders().every((id) => before.includes(id))) return;
      watch.disconnect();
      local.set("offered", "yes");
      offer.hidden = false;
    });
    watch.observe(promises, { childList: true, subtree: true });
    offer.querySelector("[data-later]").addEventListener("click", () => { offer.remove(); $("text")?.focus({ preventScroll: true }); });
  }
})();
