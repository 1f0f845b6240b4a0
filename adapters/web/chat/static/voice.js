// Voice: the composer records voice notes, and answers are read out, where the browser
// supports it. Without this script only these buttons are missing.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const write = $("write"), panel = $("recording");

  // ---- Recording. ----
  if (write && panel && window.MediaRecorder && navigator.mediaDevices) {
    const begin = $("record"), time = $("recorded"), stop = $("record-stop"), send = $("record-send"), away = $("record-discard");
    const types = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"].filter((x) => MediaRecorder.isTypeSupported(x));
    let recorder = null, pieces = [], started = 0, seconds = 0, tick;
    begin.hidden = false;
    const clock = (n) => Math.floor(n / 60) + ":" + String(n % 60).padStart(2, "0");
    const fail = (why) => { const p = $("unsent"); p.textContent = why; p.hidden = !why; };
    function show(state) { // "", recording or stopped
      write.classList.toggle("records", !!state);
      panel.hidden = !state;
      panel.dataset.state = state;
      stop.hidden = state !== "recording";
      time.textContent = clock(seconds);
    }
    function end() {
      clearInterval(tick);
      if (!recorder) return Promise.resolve();
      const r = recorder;
      recorder = null;
      return new Promise((done) => {
        r.onstop = () => { r.stream.getTracks().forEach((x) => x.stop()); done(); };
        if (r.state === "inactive") r.onstop(); else r.stop();
      });
    }
    begin.addEventListener("click", async () => {
      fail("");
      let stream;
      try {
        stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      } catch (e) {
        fail(e.name === "NotAllowedError" ? panel.dataset.refused : panel.dataset.none);
        return;
      }
      pieces = [];
      recorder = new MediaRecorder(stream, types[0] ? { mimeType: types[0] } : {});
      recorder.ondataavailable = (e) => { if (e.data.size) pieces.push(e.data); };
      recorder.start(1000);
      started = Date.now();
      seconds = 0;
      tick = setInterval(() => {
        seconds = Math.floor((Date.now() - started) / 1000);
        time.textContent = clock(seconds);
        if (pieces.reduce((n, x) => n + x.size, 0) > Number(write.dataset.size) * 0.9) { stop.click(); fail(panel.dataset.full); }
      }, 200);
      show("recording");
      stop.focus();
    });
    stop.addEventListener("click", async () => { await end(); show("stopped"); send.focus(); });
    const over = () => { pieces = []; show(""); begin.focus(); };
    away.addEventListener("click", async () => { await end(); over(); });
    send.addEventListener("click", async () => {
      send.disabled = true;
      await end();
      const type = (pieces[0]?.type || types[0] || "audio/webm").split(";")[0];
      const body = new FormData();
      const nonce = Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");
      body.append("nonce", nonce);
      for (const name of ["account", "thread", "day"]) body.append(name, write.elements[name].value);
      body.append("seconds", String(Math.max(1, seconds)));
      body.append("voice", new File(pieces, "voice." + type.split("/")[1], { type }));
      // A message that cannot be sent waits, if the browser can store it (offline.js).
      const hold = (failed) => !write.dispatchEvent(new CustomEvent("hold", { detail: { body, failed }, cancelable: true }));
      let why = "";
      if (!hold(false)) {
        const r = await fetch(write.action, { method: "POST", body, headers: { Accept: "application/json" } }).catch(() => null);
        if (!r) why = hold(true) ? "" : write.dataset.notSent + " " + write.dataset.offline;
        else if (!r.ok) why = write.dataset.notSent + " " + ((await r.json().catch(() => ({}))).error || r.status);
      }
      send.disabled = false;
      if (why) { fail(why); show("stopped"); return; } // the recording is still there
      over();
    });
    show("");
  }

  // ---- Reading out. ----
  if (!window.speechSynthesis) return;
  document.documentElement.classList.add("speaks");
  const common = { en: "the and is of to you it that for with", fr: "le la les et est des une vous que pour dans", de: "der die das und ist nicht ein du zu mit auf",
    es: "el los y es una que para con por no", it: "il e di che per una non con sono del", nl: "de het een en is van niet dat je op" };
  function language(text) { // detected by its commonest words; else the page's
    const said = text.toLowerCase().split(/[^\p{L}]+/u);
    const score = (l) => said.filter((w) => common[l].split(" ").includes(w)).length;
    const best = Object.keys(common).reduce((a, b) => (score(b) > score(a) ? b : a));
    const page = document.documentElement.lang;
    return score(best) > (common[page] ? score(page) : 0) ? best : page;
  }
  let reading = null;
  function quiet() {
    speechSynthesis.cancel();
    if (reading) { reading.textContent = reading.dataset.listen; reading.setAttribute("aria-pressed", "false"); }
    reading = null;
  }
  document.addEventListener("click", (e) => {
    const b = e.target.closest("[data-listen]");
    if (!b) return;
    const was = reading;
    quiet();
    if (was === b) return;
    const text = b.closest(".entry").querySelector(".prose")?.innerText.trim();
    if (!text) return;
    const lang = language(text), voice = speechSynthesis.getVoices().find((v) => v.lang.toLowerCase().startsWith(lang));
    // Browsers break off long texts, so each sentence is read on its own.
    const parts = text.match(/[^.!?\n]+[.!?]*\s*/g) || [text];
    parts.forEach((part, i) => {
      const u = new SpeechSynthesisUtterance(part);
      u.lang = voice?.lang || lang;
      if (voice) u.voice = voice;
      if (i === parts.length - 1) u.onend = () => { if (reading === b) quiet(); };
      u.onerror = () => { if (reading === b) quiet(); };
      speechSynthesis.speak(u);
    });
    reading = b;
    b.textContent = b.dataset.stop;
    b.setAttribute("aria-pressed", "true");
  });
  addEventListener("pagehide", quiet);
})();
