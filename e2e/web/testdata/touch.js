"use strict";
// What tests that operate a page by touch ask of it, beside hand.js.
// What is aimed at may be shown again meanwhile, as another element.
document.addEventListener("click", (e) => {
  const el = hand.aimed && hand.find(hand.aimed);
  if (el && hand.target(el).contains(e.target)) hand.tapped = true;
}, true);
Object.assign(hand, {
  // What a finger hits: of a box to tick its label, too.
  target: (el) => (/^(radio|checkbox|file)$/.test(el.type) && el.closest("label")) || el,
  // The message on which a finger taps to see a target, or "" if the target is shown.
  message(text) {
    const [selector, words] = text.split(" >> ");
    const el = [...document.querySelectorAll(selector)].find((x) => x.closest(".quick") && (!words || x.textContent.trim().startsWith(words)));
    return el && !el.checkVisibility() ? el.closest(".entry").id : "";
  },
  // Where a finger taps on a target, and what is wrong with that.
  aim(text) {
    const el = hand.target(hand.find(text)), wrong = [];
    hand.aimed = text;
    hand.tapped = false;
    if (!hand.point(el).hit) el.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
    const at = hand.point(el);
    if (!hand.seen(el)) wrong.push("it is not seen without hovering: " + hand.name(el));
    if (!at.hit) wrong.push("it is covered by " + hand.over(el) + ": " + hand.name(el));
    return { X: at.x, Y: at.y, Wrong: wrong.concat(hand.small(el)) };
  },
  // The middle of an element, and whether a tap there is one on it.
  point(el) {
    const b = [...el.getClientRects()].find((x) => x.width && x.height) || el.getBoundingClientRect();
    const x = b.left + b.width / 2, y = b.top + b.height / 2, top = document.elementFromPoint(x, y);
    return { x, y, hit: !!top && el.contains(top) };
  },
  // Chooses where a phone shows a wheel of its own; says whether it does.
  wheel(text, value) {
    const el = hand.find(text);
    if (!/^(select-one|date)$/.test(el.type)) return false;
    el.value = value;
    for (const kind of ["input", "change"]) el.dispatchEvent(new Event(kind, { bubbles: true }));
    return el.value === value;
  },
  all: () => [...new Set([...document.querySelectorAll(hand.every)].filter((x) => x.checkVisibility({ visibilityProperty: true }) && !x.disabled &&
    !x.matches(".skip")).map(hand.target))], // .skip is there for keys: it comes into view with the focus
  // What an element moves with: what sticks or scrolls lies over other things now and then.
  layer(el) {
    for (let x = el.parentElement; x; x = x.parentElement) {
      const s = getComputedStyle(x);
      if (/sticky|fixed/.test(s.position) || s.zIndex !== "auto" || /auto|scroll/.test(s.overflowX + s.overflowY)) return x;
    }
    return null;
  },
  // Says which targets have less than 44 by 44 pixels, unless they stand in a line of text
  // or a circle of 44 around their middle meets nothing else.
  small(only) {
    const size = 44, little = (b) => b.width < size - .05 || b.height < size - .05;
    const inText = (x) => getComputedStyle(x).display === "inline" && [...x.parentElement.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    const every = hand.all().map((el) => ({ el, b: el.getBoundingClientRect() })).filter((x) => x.b.width && x.b.height);
    return every.filter((x) => (!only || x.el === only) && little(x.b) && !inText(x.el)).map((a) => {
      const x = a.b.left + a.b.width / 2, y = a.b.top + a.b.height / 2, layer = hand.layer(a.el);
      const close = every.find((o) => {
        if (o.el === a.el || o.el.contains(a.el) || a.el.contains(o.el)) return false;
        const dx = Math.max(o.b.left - x, 0, x - o.b.right), dy = Math.max(o.b.top - y, 0, y - o.b.bottom);
        const meets = Math.hypot(dx, dy) < size / 2 || (little(o.b) && Math.hypot(o.b.left + o.b.width / 2 - x, o.b.top + o.b.height / 2 - y) < size);
        return meets && hand.layer(o.el) === layer;
      });
      return close && `it is ${a.b.width.toFixed(1)} x ${a.b.height.toFixed(1)} and close to ${close.el.outerHTML.slice(0, 70)}: ${hand.name(a.el)}`;
    }).filter(Boolean);
  },
  // Unfolds a page, and says what can be tapped and what is wrong with it.
  survey() {
    const wrong = new Set(), controls = new Set(), menus = [...document.querySelectorAll("details.menu")];
    const note = () => {
      hand.small().forEach((x) => wrong.add(x));
      for (const x of document.querySelectorAll(hand.every)) {
        if (!x.checkVisibility({ visibilityProperty: true }) || x.disabled) continue;
        controls.add(x);
        if (!hand.seen(hand.target(x))) wrong.add("it is not seen without hovering: " + hand.name(x));
      }
    };
    note();
    const folded = [...document.querySelectorAll("details:not(.menu):not([open])")];
    folded.forEach((x) => { x.open = true; });
    document.querySelectorAll(".entry.said").forEach((x) => x.classList.add("shows"));
    note();
    for (const menu of menus.slice(0, 3).concat(menus.slice(3).slice(-2))) { menu.open = true; note(); menu.open = false; }
    folded.forEach((x) => { x.open = false; });
    return { Controls: [...controls].map(hand.say), Wrong: [...wrong].slice(0, 40) };
  },
});
