// The script of the page. Everything works without it; with it the page updates
// itself, answers appear as they are written, and panels open in place.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  root.classList.add("script");

  // ---- What the browser stores, if it can. Others may share the origin: names begin with the path of the page. ----
  const below = root.dataset.root || "", mine = "everthread" + below + ":";
  const keep = (f) => { try { return f(); } catch { return null; } };
  const stored = (storage) => ({
    get: (name) => keep(() => storage().getItem(mine + name)),
    set: (name, value) => keep(() => (value ? storage().setItem(mine + name, value) : storage().removeItem(mine + name))),
    names: () => (keep(() => Object.keys(storage())) || []).filter((k) => k.startsWith(mine)).map((k) => k.slice(mine.length)),
    drop(which) { for (const name of this.names()) if (which.test(name)) this.set(name); },
  });
  const browser = window.everthread = { below, mine, local: stored(() => localStorage), tab: stored(() => sessionStorage) };

  // ---- Toasts: messages that disappear. ----
  const toast = $("toast");
  let toastTimer;
  function say(text, stays) {
    if (!toast) return;
    toast.textContent = text || "";
    clearTimeout(toastTimer);
    if (text && !stays) toastTimer = setTimeout(() => { toast.textContent = ""; }, 6000);
  }
  if (toast && toast.textContent) say(toast.textContent);
  document.addEventListener("say", (e) => say(e.detail)); // from the rooms' scripts

  // ---- Server-rendered markup as elements. ----
  function elements(html) {
    const t = document.createElement("template");
    t.innerHTML = html;
    return t.content;
  }

  // ---- Limits of fields: a text that is too long stays whole, and is refused in words. ----
  document.addEventListener("input", (e) => {
    const field = e.target, most = Number(field.dataset.most), n = [...field.value || ""].length;
    if (!most) return;
    const number = (x) => x.toLocaleString(root.lang);
    field.setCustomValidity(n > most ? toast.dataset.long.replace("{most}", number(most)).replace("{have}", number(n)) : "");
    if (n > most && e.inputType !== "insertText") field.reportValidity();
  });

  // ---- Signing in: choice of the time zone, if the browser's differs from the gateway's. ----
  const clocks = $("clocks");
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const begins = document.querySelector("input[data-here]");
  if (begins && here) begins.value = here;
  if (clocks && here && here !== clocks.dataset.house) {
    clocks.querySelectorAll("input").forEach((x, i) => {
      if (!i) x.value = here;
      const shown = { weekday: "long", hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: x.value };
      let clock = "";
      try { clock = new Intl.DateTimeFormat(clocks.dataset.lang, shown).format() + " – "; } catch { /* the browser does not know the zone */ }
      x.nextElementSibling.firstElementChild.textContent = clock + x.value;
    });
    clocks.hidden = clocks.disabled = false;
  }

  // ---- Scrolling: the position stays, unless the reader is at the end. ----
  const entries = $("entries");
  const live = entries && entries.dataset.live;
  const atEnd = () => root.scrollHeight - window.innerHeight - window.scrollY < 120;
  const toEnd = () => { window.scrollTo(0, root.scrollHeight); place = window.scrollY; };
  let pinned = false; // the reader is at the end, and stays there as pictures load
  let place = 0; // position of the end; a smaller one means a scroll whose event is still to come
  let tall = window.innerHeight; // an opening keyboard scrolls too, without the reader
  window.addEventListener("scroll", () => {
    if (window.innerHeight !== tall) return;
    pinned = atEnd();
    place = window.scrollY;
  }, { passive: true });
  const stay = () => { if (pinned && live && window.scrollY >= place) toEnd(); };
  window.addEventListener("resize", () => { tall = window.innerHeight; stay(); });
  document.addEventListener("load", (e) => { if (e.target.tagName === "IMG") stay(); }, true);
  function keepPlace(change) {
    const end = atEnd();
    change();
    if (end && live) toEnd();
  }

  // ---- Jumping to a message, which opens folds. ----
  // within returns the first place of a text in an element, or null.
  function within(el, words) {
    const all = document.createTreeWalker(el, NodeFilter.SHOW_TEXT), place = document.createRange();
    while (all.nextNode()) {
      const at = all.currentNode.data.indexOf(words);
      if (at < 0) continue;
      place.setStart(all.currentNode, at);
      place.setEnd(all.currentNode, at + words.length);
      return place;
    }
    return null;
  }
  function reveal(hash) {
    const id = decodeURIComponent(hash.slice(1));
    const el = /^[mv]\d+$/.test(id) && $(id);
    if (!el) return false;
    document.querySelectorAll(".found").forEach((x) => x.classList.remove("found"));
    el.classList.add("found");
    el.scrollIntoView({ block: el.offsetHeight > window.innerHeight ? "start" : "center" });
    const words = new URLSearchParams(location.search).get("find");
    const place = words && (within(el, words) || within(el, words.split(" ")[0]));
    if (place) window.scrollBy(0, place.getBoundingClientRect().top - window.innerHeight / 2);
    return true;
  }
  window.addEventListener("hashchange", () => reveal(location.hash));
  // The browser goes to the top of the message once all is loaded, and again when a page is visited again.
  window.addEventListener("pageshow", () => setTimeout(() => reveal(location.hash)));
  if (!(location.hash && reveal(location.hash)) && live && !location.search) { toEnd(); pinned = true; }

  // ---- Panels in place: the main part of a page below the entry that opened it. ----
  async function part(url) {
    const r = await fetch(url, { headers: { "X-Part": "1" } });
    if (r.status === 401) { say((await r.json()).error, true); return null; }
    return elements(await r.text());
  }
  async function openPanel(link) {
    let host = link.closest(".entry") || link.closest(".summary") || link.parentElement;
    const old = host.querySelector(":scope > .panel-here");
    if (old) {
      old.remove();
      if (old.dataset.from === link.getAttribute("href")) return;
    }
    const inside = await part(link.href);
    if (!inside) return;
    if (!host.isConnected) host = $(host.id) || host; // it was rendered again meanwhile
    const panel = document.createElement("div");
    panel.className = "panel-here";
    panel.tabIndex = -1;
    panel.dataset.from = link.getAttribute("href");
    panel.append(inside);
    panel.querySelectorAll(".crumb a").forEach((a) => { a.dataset.close = ""; a.setAttribute("role", "button"); });
    panel.querySelectorAll("h1, h2").forEach((h) => { h.setAttribute("role", "heading"); h.setAttribute("aria-level", h.tagName === "H1" ? "3" : "4"); });
    panel.opener = link;
    host.append(panel);
    const field = panel.querySelector("textarea");
    (field || panel).focus({ preventScroll: true });
    field?.setSelectionRange(field.value.length, field.value.length);
    const box = panel.getBoundingClientRect();
    const foot = $("composer") ? $("composer").offsetHeight : 0;
    if (box.bottom > window.innerHeight - foot) panel.scrollIntoView({ block: box.height > window.innerHeight - foot - 80 ? "start" : "center" });
  }
  function closePanel(panel) {
    panel.remove();
    if (panel.opener && panel.opener.isConnected) (panel.opener.closest("details.menu")?.querySelector("summary") || panel.opener).focus();
  }
  async function submitPanel(form, button) {
    const panel = form.closest(".panel-here");
    const r = await send(form.action, new URLSearchParams(new FormData(form, button)));
    if (!r.ok) { warn(form, r.error); return; }
    say(r.toast);
    if (panel) closePanel(panel);
  }
  function warn(form, text) {
    let p = form.querySelector(".note.bad");
    if (!p) {
      p = document.createElement("p");
      p.className = "note bad";
      p.setAttribute("role", "alert");
      form.append(p);
    }
    p.textContent = text;
  }

  // ---- Posting: returns the server's answer, or that it cannot be reached. ----
  async function send(url, body) {
    try {
      const r = await fetch(url, { method: "POST", body, headers: { Accept: "application/json" } });
      const data = await r.json().catch(() => ({}));
      return { ok: r.ok, error: data.error || String(r.status), ...data };
    } catch {
      return { ok: false, failed: true, error: write ? write.dataset.offline : "" };
    }
  }

  document.addEventListener("click", (e) => {
    const link = e.target.closest("a");
    if (e.isTrusted && !e.target.closest("details.menu")) closeMenus(); // not when a script clicks
    if (!link || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) {
      if (e.target.closest("[data-keys]")) { closeMenus(); $("shortcuts").showModal(); }
      return;
    }
    const panel = link.closest(".panel-here");
    if ("close" in link.dataset && panel) { e.preventDefault(); closePanel(panel); return; }
    if (link.classList.contains("inline")) { e.preventDefault(); closeMenus(); openPanel(link); return; }
    if (link.dataset.copied && navigator.clipboard) {
      e.preventDefault();
      closeMenus();
      navigator.clipboard.writeText(link.href).then(() => say(link.dataset.copied), () => location.assign(link.href));
      return;
    }
    if (link.classList.contains("ref")) {
      const hash = "#m" + link.pathname.split("/").pop();
      if (reveal(hash)) { e.preventDefault(); history.pushState(null, "", hash); }
      return;
    }
    if (link.id === "earlier") { e.preventDefault(); earlier(link); return; }
    if (link.classList.contains("calendar-nav")) { e.preventDefault(); month(link); }
  });
  // A menu closes when it loses the focus.
  document.addEventListener("focusin", (e) => {
    document.querySelectorAll("details.menu[open]").forEach((d) => { if (!d.contains(e.target)) d.open = false; });
  });
  function closeMenus() { document.querySelectorAll("details.menu[open]").forEach((d) => { d.open = false; }); }

  // Signing out clears what the browser stores about a person.
  function forget() {
    browser.local.drop(/^(draft|read):/);
  }

  document.addEventListener("submit", (e) => {
    const form = e.target;
    if (form.id === "signout") { forget(); return; }
    if ("inline" in form.dataset) { e.preventDefault(); submitPanel(form, e.submitter); return; }
    if (form.closest("#status") || form.closest(".summary-foot")) {
      e.preventDefault();
      if (form.ariaBusy === "true") return; // a disabled button would lose the focus
      form.ariaBusy = "true";
      send(form.action, new URLSearchParams(new FormData(form))).then((r) => {
        form.ariaBusy = null;
        say(r.ok ? r.toast : r.error);
      });
    }
  });

  // ---- Earlier messages, inserted above without a jump. ----
  async function earlier(link) {
    if (link.getAttribute("aria-busy")) return;
    link.setAttribute("aria-busy", "true");
    const inside = await part(link.href).catch(() => null);
    if (!inside) { link.removeAttribute("aria-busy"); return; }
    const here = link.closest("p");
    const older = inside.querySelector("#entries");
    const next = inside.querySelector("#earlier");
    const first = entries.firstElementChild;
    const top = first ? first.getBoundingClientRect().top : 0;
    entries.prepend(...older.children);
    if (next) link.replaceWith(next); else here.remove();
    if (first) window.scrollBy(0, first.getBoundingClientRect().top - top);
    document.dispatchEvent(new Event("earlier"));
  }

  // A calendar without days is read again when it is opened: the first message may have come since.
  document.querySelector(".pick")?.addEventListener("toggle", (e) => {
    const box = e.target.querySelector("[data-calendar]");
    if (e.target.open && !box.querySelector("a.day-cell")) month(box);
  });
  async function month(link) {
    const inside = await part(link.href || link.dataset.calendar).catch(() => null);
    const box = link.closest("[data-calendar]");
    const fresh = inside && inside.querySelector("[data-calendar]");
    if (!fresh) return;
    const rel = link.rel;
    box.replaceWith(fresh);
    if (rel) (fresh.querySelector(`a[rel=${rel}]`) || fresh.querySelector("a"))?.focus();
  }

  // ---- Promises: open if there is room beside the day. ----
  if ($("promises")) $("promises").open = matchMedia("(min-width: 75rem)").matches;

  // ---- Live: entries, previews of answers, the summary. ----
  if (live) {
    let last = entries.dataset.last;
    let stream, away;
    const tell = (there) => document.dispatchEvent(new CustomEvent("connection", { detail: there })); // to offline.js
    const order = (id) => id && $(id);

    const on = {
      entry(d) {
        const fresh = elements(d.html);
        const article = fresh.querySelector(".entry");
        const old = $(d.id);
        if (old) {
          if (old.dataset.v !== article.dataset.v) {
            const at = old.contains(document.activeElement) && document.activeElement, does = "a, button, summary";
            const n = at ? [...old.querySelectorAll(does)].indexOf(at) : -1;
            const panel = old.querySelector(":scope > .panel-here");
            if (panel) article.append(panel);
            article.classList.toggle("shows", old.classList.contains("shows"));
            old.replaceWith(article);
            if (at) { // keep the focus
              article.tabIndex = -1;
              (at.isConnected ? at : article.querySelectorAll(does)[n] || article).focus({ preventScroll: true });
            }
          }
          return;
        }
        document.querySelector(".timeline > .empty")?.remove();
        const draft = article.dataset.turn && $(article.dataset.turn);
        if (draft) article.classList.toggle("shows", draft.classList.contains("shows"));
        const before = order(d.after);
        document.dispatchEvent(new CustomEvent("came", { detail: article })); // to the composer
        // An unread message follows an answer of which something is visible: that does not answer it.
        if ("waits" in article.dataset && entries.querySelector(".writing .prose:not(:empty)")) entries.append(...fresh.childNodes);
        else if (before && before.parentElement === entries) { draft?.remove(); before.after(...fresh.childNodes); }
        else if (draft) draft.replaceWith(...fresh.childNodes);
        else if (entries.querySelector(".writing")) entries.querySelector(".writing").before(...fresh.childNodes);
        else entries.append(...fresh.childNodes);
      },
      order(ids) {
        let before;
        for (const el of ids.map($).filter((x) => x && x.parentElement === entries)) {
          if (before && before.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_PRECEDING) before.after(el);
          before = el;
        }
        // Missing answers between remaining entries were replaced.
        const oldest = Math.min(...ids.filter((id) => id.startsWith("m")).map((id) => Number(id.slice(1))));
        entries.querySelectorAll(":scope > .entry[data-turn], :scope > .entry.tools").forEach((x) => {
          if (Number(x.id.slice(1)) > oldest && !ids.includes(x.id)) x.remove();
        });
      },
      turns(list) {
        const ids = list.map((x) => x.id);
        entries.querySelectorAll(".writing").forEach((x) => { if (!ids.includes(x.id)) x.remove(); });
        for (const x of list) {
          const old = $(x.id);
          if (!old) entries.append(...elements(x.html).childNodes);
          else old.querySelector(".typing").textContent = elements(x.html).querySelector(".typing").textContent;
        }
      },
      preview(d) {
        const el = $(d.id);
        if (el) morph(el.querySelector(".prose"), elements(d.html));
      },
      gone(d) { $(d.id)?.remove(); },
      state(d) {
        const status = $("status");
        if (!status) return;
        status.replaceChildren(...elements(d.html).childNodes);
        const form = $("write");
        status.querySelectorAll("input[type=hidden]").forEach((i) => { i.value = form.elements[i.name].value; });
      },
      summary(d) {
        const box = $("summary");
        if (!box) return;
        const panel = box.querySelector(":scope > .panel-here"), at = document.activeElement;
        const foot = () => [...box.querySelectorAll(":scope > .summary-foot :is(a, button)")];
        const n = foot().indexOf(at);
        box.replaceChildren(...elements(d.html).childNodes);
        if (panel) {
          box.append(panel);
          panel.opener = foot().find((x) => x.getAttribute("href") === panel.dataset.from);
        }
        if (n >= 0) foot()[n]?.focus();
        else if (panel?.contains(at)) at.focus();
      },
      promises(d) {
        const box = $("promises");
        const same = document.createElement("details");
        same.append(...elements(d.html).childNodes);
        same.querySelectorAll("details").forEach((x) => { x.open = !!$(x.id)?.open; });
        if (!box || box.innerHTML === same.innerHTML) return;
        const at = document.activeElement, does = "a, button, summary", focused = box.contains(at);
        const one = focused && at.closest("li[id]"), n = one ? [...one.querySelectorAll(does)].indexOf(at) : 0;
        box.replaceChildren(...same.childNodes);
        if (focused) (one && $(one.id)?.querySelectorAll(does)[n] || box.querySelector("summary")).focus();
      },
      tab(d) {
        document.querySelectorAll(`.top a[href="${d.path}"]`).forEach((x) => x.replaceChildren(...elements(d.html).childNodes));
      },
      end(d) { stream.close(); stream = null; say(d.text, true); },
    };

    // morph makes a's children equal to b's and leaves equal ones alone: selections
    // stay, and a screen reader announces only what is new.
    function morph(a, b) {
      const to = [...b.childNodes];
      to.forEach((node, i) => {
        const old = a.childNodes[i];
        if (!old) a.append(node);
        else if (!old.isEqualNode(node)) old.replaceWith(node);
      });
      while (a.childNodes.length > to.length) a.lastChild.remove();
    }

    function open() {
      if (stream) return;
      stream = new EventSource(live + "&last=" + encodeURIComponent(last));
      for (const name of Object.keys(on)) {
        stream.addEventListener(name, (e) => {
          if (e.lastEventId) last = e.lastEventId;
          keepPlace(() => on[name](JSON.parse(e.data)));
        });
      }
      stream.addEventListener("open", () => tell(true));
      stream.addEventListener("error", () => {
        if (!stream) return;
        tell(false);
        if (stream.readyState !== EventSource.CLOSED) return;
        stream = null; // refused, perhaps as the session ended, which is then reported
        const again = () => setTimeout(open, 5000);
        part(location.pathname).then((inside) => { if (inside) again(); else tell(true); }, again);
      });
    }
    // A hidden page disconnects after a while, except one that counts and notifies. The
    // others catch up when they become visible.
    const letGo = () => { if (stream && document.hidden) { stream.close(); stream = null; } };
    let shown = () => {};
    const pushes = () => browser.local.get("push") === "on";
    document.addEventListener("visibilitychange", () => {
      clearTimeout(away);
      shown();
      if (!document.hidden) { open(); return; }
      if (pushes()) { letGo(); return; } // what comes while nobody looks is pushed
      away = setTimeout(() => {
        if (!navigator.locks) { letGo(); return; }
        navigator.locks.request(mine + "live", { ifAvailable: true }, (lock) => lock ? new Promise((done) => { shown = done; }) : letGo());
      }, 30000);
    });
    open();
  }

  // ---- The composer. ----
  const write = $("write");
  if (write) {
    const text = $("text"), picker = write.elements.file, button = $("send"), list = $("picked"), unsent = $("unsent");
    const key = "draft:" + entries.dataset.reader;
    const files = [];
    let busy = false;

    const grow = () => {
      if (CSS.supports("field-sizing", "content")) return;
      text.style.height = "auto";
      text.style.height = text.scrollHeight + "px";
    };
    text.value = browser.local.get(key) || text.value;
    const weigh = () => (text.value.length * 3 > write.dataset.most ? new Blob([text.value]).size : 0);
    const typed = () => {
      grow();
      $("long").hidden = weigh() <= write.dataset.most;
      browser.local.set(key, text.value);
    };
    typed();
    if (!matchMedia("(pointer: coarse)").matches) text.focus({ preventScroll: true });
    text.addEventListener("input", typed);
    text.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && !e.shiftKey && !e.isComposing && e.keyCode !== 229 && !matchMedia("(pointer: coarse)").matches) { e.preventDefault(); write.requestSubmit(); }
    });

    function add(more) {
      for (const f of more) files.push(f);
      unsent.hidden = true;
      fits();
      show();
    }
    // fits reports whether the files and the text can be sent, and otherwise says why not. Nothing is dropped.
    function fits() {
      const size = files.reduce((n, f) => n + f.size, weigh());
      fail(files.length > write.dataset.files ? write.dataset.tooMany : size > write.dataset.size ? write.dataset.tooLarge : "");
      return unsent.hidden;
    }
    function show() {
      list.hidden = files.length === 0;
      write.classList.toggle("has-files", files.length > 0);
      list.replaceChildren(...files.map((f, i) => {
        const li = document.createElement("li"), name = document.createElement("span"), no = document.createElement("button");
        name.textContent = f.name;
        name.dir = "auto";
        no.type = "button";
        no.textContent = "×";
        no.setAttribute("aria-label", write.dataset.remove + ": " + f.name);
        no.addEventListener("click", () => { files.splice(i, 1); fits(); show(); text.focus(); });
        if (/^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(f.type)) {
          const small = document.createElement("img");
          small.src = URL.createObjectURL(f);
          small.alt = "";
          small.addEventListener("load", () => URL.revokeObjectURL(small.src));
          li.append(small);
        }
        li.append(name, no);
        return li;
      }));
    }
    function fail(why) { unsent.textContent = why; unsent.hidden = !why; }

    picker.addEventListener("change", () => { add(picker.files); picker.value = ""; });
    text.addEventListener("paste", (e) => { if (e.clipboardData.files.length) { e.preventDefault(); add(e.clipboardData.files); } });
    const carries = (e) => e.dataTransfer && [...e.dataTransfer.types].includes("Files");
    document.addEventListener("dragover", (e) => { if (carries(e)) { e.preventDefault(); write.classList.add("over"); } });
    document.addEventListener("dragleave", (e) => { if (!e.relatedTarget) write.classList.remove("over"); });
    document.addEventListener("drop", (e) => { if (carries(e)) { e.preventDefault(); write.classList.remove("over"); add(e.dataTransfer.files); } });

    // A message keeps its nonce until it was received, so that it is never stored twice. Once
    // changed it is another message: the first may have been stored although an error came back.
    let tried = null, sending = null;
    // sent takes the sending message out of the field. What was written and added meanwhile stays, for the next one.
    function sent() {
      if (!sending) return;
      if (text.value.startsWith(sending.text)) text.value = text.value.slice(sending.text.length);
      files.splice(0, files.length, ...files.filter((f) => !sending.files.includes(f)));
      sending = null;
      show();
      typed();
    }
    // On a slow line it stands in the timeline before its receipt arrives.
    const letters = (x) => x.replace(/[^\p{L}\p{N}]/gu, "");
    document.addEventListener("came", (e) => {
      if (sending && e.detail.dataset.who === "user" && letters(e.detail.querySelector(".prose")?.textContent || "") === letters(sending.text)) sent();
    });
    const nonce = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
    write.addEventListener("submit", async (e) => {
      e.preventDefault();
      if (busy || (!text.value.trim() && !files.length) || !fits()) return;
      busy = true;
      const label = button.textContent, message = sending = { text: text.value, files: [...files] };
      button.disabled = true;
      button.textContent = write.dataset.sending;
      if (tried !== null && tried !== message.text) write.elements.nonce.value = nonce();
      tried = message.text;
      const body = new FormData();
      for (const name of ["account", "nonce", "thread", "day", "reply"]) body.append(name, write.elements[name].value);
      body.append("text", message.text);
      for (const f of message.files) body.append("file", f, f.name);
      // A message that cannot be sent waits, if the browser can store it (offline.js).
      const hold = (failed) => !write.dispatchEvent(new CustomEvent("hold", { detail: { body, failed }, cancelable: true }));
      let r = { ok: true, url: write.dataset.draft };
      if (!hold(false)) {
        r = await send(write.action, body);
        if (r.failed && hold(true)) r = { ok: true, url: write.dataset.draft };
      }
      busy = false;
      button.disabled = false;
      button.textContent = label;
      if (!r.ok) {
        sending = null;
        fail(write.dataset.notSent + " " + r.error);
        return;
      }
      write.elements.nonce.value = nonce();
      tried = null;
      sent();
      write.dispatchEvent(new Event("sent"));
      toEnd();
      if (r.url !== below + "/" && r.url !== write.dataset.draft) location.assign(r.url);
    });
  }

  // ---- Keys: a shortcut needs Alt, or on a Mac Control and Option. A letter alone is always written. ----
  const mac = /^Mac/.test(navigator.platform);
  if (mac) document.querySelectorAll("#shortcuts .with").forEach((x) => { x.textContent = "⌃⌥"; });
  function shortcut(e) {
    if (!e.altKey || e.metaKey || e.ctrlKey !== mac || e.isComposing) return "";
    if (!mac) return e.key.toLowerCase(); // there, these keys type other characters
    return { Slash: e.shiftKey ? "?" : "/", Comma: ",", Period: "." }[e.code] || e.code.replace(/^Key/, "").toLowerCase();
  }
  const press = (el) => el?.click();
  const keys = {
    "/": () => { if ($("q")) { $("q").focus(); $("q").select(); } else location.assign(below + "/search"); },
    "?": () => $("shortcuts")?.showModal(),
    i: () => $("text")?.focus(),
    n: () => press($("next-day")),
    p: () => press($("previous-day")),
  };
  document.addEventListener("shortcut", (e) => {
    const tab = document.querySelector(`.tabs [data-key="${CSS.escape(e.detail)}"]`);
    if (!tab && !Object.hasOwn(keys, e.detail)) return;
    e.preventDefault();
    if (tab) tab.click(); else keys[e.detail]();
  });
  const writes = (el) => /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName) || el.isContentEditable;
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape") {
      const panel = document.activeElement.closest?.(".panel-here");
      const menu = document.activeElement.closest?.("details.menu[open]");
      if (panel) closePanel(panel);
      else if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
      else if (document.activeElement === $("text")) $("text").blur();
      return;
    }
    if (e.defaultPrevented || document.querySelector("dialog[open]")) return;
    const key = shortcut(e);
    if (key && !document.dispatchEvent(new CustomEvent("shortcut", { detail: key, cancelable: true }))) e.preventDefault();
    // What is typed outside a field goes into the message.
    if (!e.altKey && !e.ctrlKey && !e.metaKey && e.key.length === 1 && e.key !== " " && !writes(e.target)) $("text")?.focus({ preventScroll: true });
  });
})();
