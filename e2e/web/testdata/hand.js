"use strict";
window.confirm = () => true;
window.spoken = 0;
if (window.Notification) {
  Notification.requestPermission = async () => "granted";
  Object.defineProperty(Notification, "permission", { configurable: true, get: () => "granted" });
}
if (window.speechSynthesis) speechSynthesis.speak = () => { window.spoken++; };
window.copied = "";
Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (x) => { window.copied = x; } } });
// What tests that operate a page by keys or by touch ask of it.
window.hand = {
  opened: {},
  every: "a[href], button, summary, input:not([type=hidden]), select, textarea, [tabindex='0'], audio[controls], video[controls]",
  find(target) {
    const [selector, words] = target.split(" >> ");
    return [...document.querySelectorAll(selector)].find((x) => x.checkVisibility() && !x.disabled && (!words || x.innerText.trim().startsWith(words)));
  },
  say(el) {
    const form = el.form || el.closest("form"), attrs = {};
    for (const x of el.attributes) attrs[x.name] = x.value;
    return { Tag: el.tagName.toLowerCase(), Form: form?.getAttribute("action") || "", Details: el.tagName === "SUMMARY" ? el.parentElement.className : "", Attrs: attrs };
  },
  mark(target) { hand.at = hand.find(target); return hand.say(hand.at); },
  // What Tab stops at: of a group of radio buttons the one that is chosen, else all count.
  stops() {
    const open = document.querySelector("dialog[open]") || document;
    return [...open.querySelectorAll(hand.every)].filter((x) => x.checkVisibility({ visibilityProperty: true }) && !x.disabled && !x.closest("[inert]") &&
      !(x.type === "radio" && !x.checked && document.querySelector(`input[type=radio][name="${x.name}"]:checked`)?.form === x.form && x.form?.querySelector(`input[name="${x.name}"]:checked`)));
  },
  // How many stops lie between the focus and a target: forwards, or less than 0.
  way(target) {
    let to = hand.find(target);
    const all = hand.stops();
    if (to?.type === "radio" && !all.includes(to)) to = all.find((x) => x.type === "radio" && x.name === to.name && x.form === to.form);
    const at = all.indexOf(to), from = all.indexOf(document.activeElement);
    if (from >= 0) return at - from;
    const here = document.activeElement;
    if (here && here !== document.body) return all.filter((x) => here.compareDocumentPosition(x) & Node.DOCUMENT_POSITION_FOLLOWING).indexOf(to) + 1 || at - all.length;
    return at < all.length / 2 ? at + 1 : at - all.length;
  },
  has(target) { return document.activeElement === hand.find(target); },
  // Whether the focus is where keys operate a target: of radio buttons at one of the group.
  arrived(target) {
    const to = hand.find(target), here = document.activeElement;
    return to === here || (to?.type === "radio" && here.type === "radio" && here.name === to.name && here.form === to.form);
  },
  ring(el) {
    for (let x = el; x && x !== document.body; x = x.parentElement) {
      const s = getComputedStyle(x);
      if ((s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 1) || (x === el && s.boxShadow !== "none")) return true;
      if (x.matches("form, .body, .sheet")) return false;
    }
    return false;
  },
  seen(el) {
    for (let x = el; x; x = x.parentElement) if (Number(getComputedStyle(x).opacity) < .3 && !(x.type === "file")) return false;
    return true;
  },
  // Whether something else lies over all of it.
  covered(el) {
    const boxes = [...el.getClientRects()].filter((b) => b.width && b.height);
    if (el.type === "file" || !boxes.length) return false;
    return !boxes.some((b) => [[.5, .5], [.1, .5], [.9, .5], [.5, .15], [.5, .85]].some(([x, y]) => {
      const top = document.elementFromPoint(b.left + b.width * x, b.top + b.height * y);
      return top && (el.contains(top) || top.contains(el) && !top.matches("main, body, html, .composer, .top"));
    }));
  },
  over(el) {
    const b = el.getBoundingClientRect(), top = document.elementFromPoint(b.left + b.width / 2, b.top + b.height / 2);
    return `${top?.outerHTML.slice(0, 80)} (at ${Math.round(b.left)}, ${Math.round(b.top)}, ${Math.round(b.width)} x ${Math.round(b.height)})`;
  },
  name: (el) => location.pathname + ": " + el.outerHTML.replace(/\s+/g, " ").slice(0, 160),
  async begin() {
    for (let n = 0; n < 2; n++) await new Promise(requestAnimationFrame); // what has autofocus got the focus
    hand.first = hand.last = null;
    document.querySelectorAll(hand.every).forEach((x) => { x.known = true; }); // what comes later may come above
    document.body.tabIndex = -1; // Tab begins where the focus was last
    document.body.focus({ preventScroll: true });
    document.body.removeAttribute("tabindex");
  },
  // Judges the element that has the focus; what is folded is to be opened.
  stop() {
    const el = document.activeElement;
    if (!el || el === document.body || el === document.documentElement) return { end: true };
    if (el === hand.last) return { same: true };
    const kind = el.parentElement.className;
    const wrong = [], back = hand.last?.isConnected && !(hand.last.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (back && (hand.first === el || el.matches(".skip"))) return { end: true };
    if (back) wrong.push("the focus goes back");
    hand.first ||= el;
    hand.last = el;
    el.stopped = true;
    if (!hand.ring(el)) wrong.push("the focus is not shown");
    if (!hand.seen(el)) wrong.push("what has the focus is not seen");
    if (hand.covered(el)) wrong.push("what has the focus is covered by " + hand.over(el));
    return { control: hand.say(el), wrong: wrong.map((x) => x + " at " + hand.name(el)), folded: el.tagName === "SUMMARY" && !el.parentElement.open && (hand.opened[kind] = (hand.opened[kind] || 0) + 1) < 4 };
  },
  missed: () => hand.stops().filter((x) => x.known && !x.stopped).map((x) => "Tab does not stop at " + hand.name(x)),
};
