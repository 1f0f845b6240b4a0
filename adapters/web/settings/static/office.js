// The script of the memory, settings and administration pages. Everything works without
// it.
"use strict";
(() => {
  const say = (text) => { const t = document.getElementById("toast"); if (t) { t.textContent = text; setTimeout(() => { t.textContent = ""; }, 6000); } };
  document.addEventListener("click", async (e) => {
    const copy = e.target.closest("[data-copy]");
    if (copy) {
      const source = document.getElementById(copy.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        say(copy.dataset.said);
      } catch { getSelection().selectAllChildren(source); }
    }
    const zone = e.target.closest("[data-zone]");
    if (zone) document.getElementById(zone.dataset.zone).value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
    // One question at a time: a new one closes the previous one.
    const sure = e.target.closest("details.sure");
    document.querySelectorAll("details.sure[open]").forEach((d) => { if (d !== sure) d.open = false; });
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape") return;
    const sure = document.activeElement.closest?.("details.sure[open]");
    if (sure) { sure.open = false; sure.querySelector("summary").focus(); }
  });
  // The browser's zone is suggested first, with its name on the button.
  const zones = document.querySelector("[data-zone-first]"), zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (zones && zone) {
    const here = document.createElement("option");
    here.value = zone;
    [...zones.options].find((o) => o.value === zone)?.remove();
    zones.prepend(here);
    document.querySelectorAll("[data-zone]").forEach((b) => {
      b.textContent = b.dataset.named.replace("{zone}", zone);
      const field = document.getElementById(b.dataset.zone), offer = () => { b.hidden = field.value === zone; };
      field.addEventListener("input", offer);
      offer();
    });
  }
  // What is waited for on another device says here that it has come.
  const arrives = document.querySelector("[data-arrives]");
  if (arrives) {
    let left = 300; // tries: ten minutes
    const ask = setInterval(async () => {
      if (!left--) clearInterval(ask);
      const answer = await fetch(arrives.dataset.arrives).catch(() => null);
      if (answer?.status === 200 || answer?.status === 401) clearInterval(ask);
      if (answer?.status === 200) arrives.hidden = false;
    }, 2000);
  }
  // On a narrow screen the list of sections begins at the one shown.
  document.querySelector(".side [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
})();
