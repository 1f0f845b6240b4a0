// The script of conversations: actions on a message, and its contents. Everything but
// copying works without it.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const acts = $("acts"), words = acts ? acts.dataset : {}, text = $("text"), write = $("write");
  const say = (detail) => document.dispatchEvent(new CustomEvent("say", { detail }));
  const plain = (e) => !e.defaultPrevented && !e.button && !e.metaKey && !e.ctrlKey && !e.shiftKey && !e.altKey;
  const make = (tag, className, inside) => {
    const el = document.createElement(tag);
    el.className = className;
    if (inside) el.textContent = inside;
    return el;
  };

  // ---- Copying: with the clipboard, or else with a selection. ----
  async function copy(what) {
    let done = false;
    try {
      await navigator.clipboard.writeText(what);
      done = true;
    } catch {
      const from = document.activeElement, field = make("textarea", "unseen");
      field.value = what;
      document.body.append(field);
      field.select();
      done = document.execCommand("copy");
      field.remove();
      from?.focus?.({ preventScroll: true });
    }
    say(done ? words.copied : words.notCopied);
    return done;
  }
  async function copyMessage(link) {
    const r = await fetch(link.href).catch(() => null);
    if (!r || !r.ok) { say(write ? write.dataset.offline : words.notCopied); return; }
    if (!await copy(await r.text())) getSelection().selectAllChildren(link.closest(".entry").querySelector(".prose"));
  }

  // ---- Contents of messages: code gets a button, TeX is typeset. ----
  let temml;
  function typesetter() {
    temml ||= new Promise((done, failed) => {
      const style = document.createElement("link"), script = document.createElement("script");
      style.rel = "stylesheet";
      style.href = words.mathStyle;
      script.src = words.math;
      script.addEventListener("load", done);
      script.addEventListener("error", failed);
      document.head.append(style, script);
    });
    return temml;
  }
  function typeset(el) {
    const box = make("span", "");
    try {
      window.temml.render(el.textContent, box, { displayMode: el.classList.contains("wide"), throwOnError: true, maxSize: [40, 100] });
      el.replaceChildren(...box.childNodes);
      if (el.scrollWidth > el.clientWidth) el.tabIndex = 0; // makes it scrollable with keys
    } catch { /* it stays as it was written */ }
  }
  function dress() {
    if (!acts) return;
    for (const pre of document.querySelectorAll(".prose pre:not([data-dressed])")) {
      if (pre.closest(".writing")) continue;
      pre.dataset.dressed = "";
      let box = pre.closest(".codeblock");
      if (!box) {
        box = make("div", "plain-code");
        pre.replaceWith(box);
        box.append(pre);
      }
      const button = make("button", "copy-code", words.copyCode);
      button.type = "button";
      box.append(button);
    }
    const maths = [...document.querySelectorAll(".math:not([data-dressed])")].filter((el) => !el.closest(".writing"));
    maths.forEach((el) => { el.dataset.dressed = ""; });
    if (maths.length) typesetter().then(() => maths.forEach(typeset), () => {});
  }
  let soon;
  new MutationObserver(() => { soon ||= requestAnimationFrame(() => { soon = 0; dress(); }); }).observe($("main"), { childList: true, subtree: true });
  dress();

  // ---- A picture, large. ----
  function view(link) {
    const small = link.querySelector("img"), box = make("dialog", "viewer"), img = make("img", "");
    const foot = make("div", "viewer-foot"), open = make("a", "", words.original), close = make("button", "button", words.close);
    img.src = link.href;
    img.alt = small.alt;
    box.setAttribute("aria-label", small.alt);
    open.href = link.href;
    open.target = "_blank";
    close.type = "button";
    foot.append(make("span", "name", small.alt), open, close);
    box.append(img, foot);
    box.addEventListener("click", (e) => { if (e.target === box || e.target === close) box.close(); });
    box.addEventListener("close", () => {
      box.remove(); // the message may have been rendered again meanwhile
      (link.isConnected ? link : document.querySelector(`.picture[href="${link.getAttribute("href")}"]`))?.focus();
    });
    document.body.append(box);
    box.showModal();
    close.focus();
  }

  // ---- Replying: the composer shows the message replied to. ----
  const replying = $("replying");
  function quote(entry) {
    write.elements.reply.value = entry ? entry.id.slice(1) : "";
    replying.hidden = !entry;
    if (entry) {
      replying.querySelector("b").textContent = entry.dataset.who === "user" ? words.replyYou : words.replyAgent;
      replying.querySelector("span").textContent = (entry.querySelector(".prose")?.innerText || entry.querySelector("img")?.alt || "").slice(0, 300);
    }
    text.focus();
  }
  write?.addEventListener("sent", () => { if (write.elements.reply.value) quote(null); });

  document.addEventListener("click", (e) => {
    const code = e.target.closest(".copy-code");
    if (code) { copy(code.parentElement.querySelector("pre").textContent.replace(/\n$/, "")); return; }
    const link = e.target.closest("a");
    if (!link || !plain(e)) return;
    const act = { copy: copyMessage, picture: view };
    for (const name of Object.keys(act)) if (link.classList.contains(name)) { e.preventDefault(); act[name](link); return; }
    if (!write) return;
    if (link.classList.contains("reply")) { e.preventDefault(); quote(link.closest(".entry")); }
    if (link.classList.contains("unquote")) { e.preventDefault(); quote(null); }
  });

  // ---- A tap on a message shows its actions, and hides them. ----
  document.addEventListener("click", (e) => {
    const entry = e.target.closest(".entry.said");
    if (!entry || e.target.closest("a, button, summary, form, audio, video, .panel-here, .pop") || !getSelection().isCollapsed) return;
    document.querySelectorAll(".entry.shows").forEach((x) => { if (x !== entry) x.classList.remove("shows"); });
    if (entry.classList.toggle("shows")) entry.querySelector(".quick")?.scrollIntoView({ block: "nearest" });
  });

  // ---- Answers: requested again, or chosen. A page without live updates is reloaded. ----
  document.addEventListener("submit", async (e) => {
    const form = e.target;
    if (!form.classList.contains("act")) return;
    e.preventDefault();
    const body = new URLSearchParams(), button = e.submitter, entry = form.closest(".entry");
    if (button?.name) body.append(button.name, button.value);
    form.querySelectorAll("button").forEach((b) => { b.disabled = true; });
    const r = await fetch(form.action, { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
    const data = r ? await r.json().catch(() => ({})) : {};
    form.querySelectorAll("button").forEach((b) => { b.disabled = false; });
    if (!r?.ok) { say(data.error || (write ? write.dataset.offline : "")); return; }
    setTimeout(() => { if (entry.isConnected && data.url) { location.assign(data.url); } }, 3000);
  });

  // ---- The composer: a leading slash offers commands. ----
  const coarse = matchMedia("(pointer: coarse)").matches;
  if (text && coarse) text.enterKeyHint = "enter";
  let known, list, at = 0;
  async function offer() {
    const asked = /^\/[a-z]*$/i.test(text.value) && text.value;
    if (!asked) { fold(); return; }
    known ||= fetch(window.everthread.below + "/commands", { headers: { "X-Part": "1" } }).then((r) => r.text()).then((html) => {
      const t = document.createElement("template");
      t.innerHTML = html;
      return [...t.content.querySelectorAll("#command-list dt")].map((dt) => [dt.textContent, dt.nextElementSibling.textContent]);
    }).catch(() => { known = null; return []; });
    const all = (await known).filter(([name]) => name.startsWith(asked.toLowerCase()));
    if (text.value !== asked || document.activeElement !== text || $("send").disabled) return; // it was left, or sent
    fold();
    if (!all.length) return;
    list = make("ul", "suggest");
    list.id = "suggest";
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", words.commands);
    list.append(...all.map(([name, line], i) => {
      const li = make("li", "");
      li.id = "suggest-" + i;
      li.dataset.name = name;
      li.setAttribute("role", "option");
      li.append(make("b", "", name), make("span", "", line));
      return li;
    }));
    list.addEventListener("pointerdown", (e) => { e.preventDefault(); });
    list.addEventListener("click", (e) => { pick(e.target.closest("li")); });
    write.append(list);
    text.setAttribute("aria-controls", "suggest");
    mark(0);
  }
  function mark(n) {
    at = (n + list.children.length) % list.children.length;
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === at)));
    list.children[at].scrollIntoView({ block: "nearest" });
    text.setAttribute("aria-activedescendant", list.children[at].id);
  }
  function fold() {
    list?.remove();
    list = null;
    text.removeAttribute("aria-activedescendant");
    text.removeAttribute("aria-controls");
  }
  function pick(li) {
    if (!li) return;
    text.value = li.dataset.name + " ";
    fold();
    text.focus();
    text.dispatchEvent(new Event("input", { bubbles: true }));
  }
  text?.setAttribute("aria-autocomplete", "list");
  text?.addEventListener("input", offer);
  text?.addEventListener("blur", fold);
  write?.addEventListener("submit", fold);
  document.addEventListener("keydown", (e) => {
    if (!list || e.target !== text || e.isComposing) return;
    const chosen = list.children[at];
    if (e.key === "ArrowDown") mark(at + 1);
    else if (e.key === "ArrowUp") mark(at - 1);
    else if (e.key === "Escape") fold();
    else if ((e.key === "Enter" || e.key === "Tab") && chosen.dataset.name !== text.value) pick(chosen);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }, true);

  // ---- Keys: for the message with the focus, or else the newest one with the action. ----
  const entries = () => [...document.querySelectorAll(".entry.said")].filter((x) => x.checkVisibility());
  const here = () => document.activeElement.closest?.(".entry.said");
  function press(selector) {
    const own = here(), from = own ? [own] : entries().reverse();
    from.map((x) => x.querySelector(selector)).find(Boolean)?.click();
  }
  function step(by) {
    const all = entries(), i = all.indexOf(here());
    const to = i < 0 ? all.at(-1) : all[i + by];
    if (!to) return;
    to.tabIndex = -1;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "center" });
  }
  const keys = {
    ",": () => press(".variants .act:first-child button"),
    ".": () => press(".variants .act:last-child button"),
    a: () => press(".quick .again"),
    c: () => press(".quick .copy"),
    e: () => press(".quick .edit"),
    j: () => step(1),
    k: () => step(-1),
    r: () => press(".quick .reply"),
    x: () => document.querySelector("#status .stop-button")?.click(),
  };
  document.addEventListener("shortcut", (e) => {
    if (!Object.hasOwn(keys, e.detail)) return;
    e.preventDefault();
    keys[e.detail]();
  });
})();
