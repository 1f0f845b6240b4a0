// Reading on: where the reader stopped, what is new since, and a link to it. The browser
// stores what was read.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const entries = $("entries");
  if (!entries) return;
  const live = Boolean(entries.dataset.live);
  const key = "read:" + entries.dataset.reader;
  const { local } = window.everthread;
  const number = (el) => Number(/^m(\d+)$/.exec(el.id)?.[1] || 0);
  const said = () => [...entries.querySelectorAll(":scope > .entry:not(.writing)")].filter(number);
  const own = (el) => el.dataset.who === "user";
  const title = document.title;
  const begin = said();
  let read = Number(local.get(key)) || 0;
  const first = !read;
  function upTo(n) {
    if (n <= read) return;
    read = n;
    local.set(key, read);
  }
  // A reader has read everything before their own message, and on the first visit everything.
  for (const el of begin) if (first || own(el)) upTo(number(el));

  // ---- The mark before the first unread message, and where the page opens. ----
  const unread = () => said().filter((el) => number(el) > read && !own(el));
  const [next] = unread();
  if (live && next) {
    const mark = document.createElement("p");
    mark.className = "unread-mark";
    mark.setAttribute("role", "separator");
    mark.textContent = entries.dataset.unread;
    next.before(mark);
    const covered = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop);
    if (!location.hash && !location.search && mark.getBoundingClientRect().top < covered) {
      window.scrollBy(0, mark.getBoundingClientRect().top - covered);
    }
  }

  // ---- Visible messages count as read while the page has the focus. ----
  const sight = new Set();
  const looks = () => document.visibilityState === "visible" && document.hasFocus();
  const seen = new IntersectionObserver((all) => {
    for (const one of all) one.isIntersecting ? sight.add(one.target) : sight.delete(one.target);
    tell();
  });
  const button = $("to-newest"), count = button?.querySelector("b");
  const end = () => document.documentElement.scrollHeight - innerHeight - scrollY;
  function tell() {
    if (looks()) for (const el of sight) upTo(number(el));
    const n = live ? unread().length : 0;
    document.title = n ? `(${n}) ${title}` : title;
    if (!button) return;
    button.hidden = live && end() < 300;
    count.textContent = n || "";
    button.setAttribute("aria-label", entries.dataset.toNewest + (n ? ` (${entries.dataset.unread}: ${n})` : ""));
  }
  button?.addEventListener("click", (e) => {
    if (!live) return; // it is a link to the newest
    e.preventDefault();
    window.scrollTo(0, document.documentElement.scrollHeight);
    $("text")?.focus({ preventScroll: true });
  });
  addEventListener("scroll", tell, { passive: true });
  addEventListener("focus", tell);
  document.addEventListener("visibilitychange", tell);
  document.addEventListener("submit", (e) => { if (e.target.id === "write") document.querySelector(".unread-mark")?.remove(); });

  // ---- Notifications, if the browser may show them. ----
  const can = "Notification" in window && isSecureContext;
  const on = () => can && Notification.permission === "granted" && local.get("notify") === "on";
  function notify(el) {
    if (!on() || looks() || own(el)) return;
    const who = el.querySelector(".who")?.textContent || "";
    const n = new Notification("Everthread", { body: `${who}: ${el.querySelector(".prose")?.textContent.trim().slice(0, 160) || ""}`, tag: el.id });
    n.addEventListener("click", () => { window.focus(); el.scrollIntoView({ block: "center" }); n.close(); });
  }
  const ask = document.querySelector("[data-notify]");
  if (ask && can && Notification.permission !== "denied") {
    const show = () => ask.setAttribute("aria-pressed", String(on()));
    ask.hidden = false;
    show();
    ask.addEventListener("click", async () => {
      const want = !on();
      if (want && Notification.permission !== "granted") await Notification.requestPermission();
      local.set("notify", want ? "on" : "off");
      show();
    });
  }

  // ---- New messages, and those of an earlier page. ----
  for (const el of begin) seen.observe(el);
  new MutationObserver((all) => {
    for (const one of all) {
      for (const el of one.addedNodes) {
        if (!(el instanceof HTMLElement) || !el.matches(".entry:not(.writing)") || !number(el)) continue;
        seen.observe(el);
        const after = number(el) > read && !begin.some((x) => x.id === el.id);
        if (after && own(el)) upTo(number(el));
        else if (after && live) notify(el);
        begin.push(el);
      }
    }
    tell();
  }).observe(entries, { childList: true });
  // Nothing is loaded while the keyboard focus is before the entries, so that the link can be pressed.
  const ahead = () => { const at = document.activeElement; return at.matches(":focus-visible") && !at.closest(".top") && at.compareDocumentPosition(entries) & Node.DOCUMENT_POSITION_FOLLOWING; };
  const above = new IntersectionObserver((all) => {
    if (all.some((one) => one.isIntersecting) && scrollY < 900 && !ahead()) $("earlier")?.click();
  }, { rootMargin: "600px 0px 0px" });
  const watch = () => { above.disconnect(); if ($("earlier")) above.observe($("earlier")); };
  addEventListener("scroll", watch, { passive: true, once: true });
  document.addEventListener("earlier", watch);
  tell();
})();
