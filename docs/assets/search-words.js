// The search wants every word of a question. Leave out the words that say nothing, and endings: "jobs" also finds "job".
// Of the pages that it finds, those of the reference, the gallery and the architecture come last: a reader who asks in words wants a
// guide. A name, such as run_token or CustomJob, is looked up, so the order stays.
(() => {
  const fillers = new Set(
    ("a after all am an and any are as at be been but by can could did do does for from get had has have how i if in into " +
      "is it its just many may me much my of on or our per please should so some than that the their them then there these they " +
      "this those to want was we were what when where which who why will with would you your").split(" ")
  );

  function stem(word) {
    if (!/^[a-z]{4,}$/i.test(word)) return word; // names such as run_token and 429 stay as they are
    if (/[a-z]{4}ing$/i.test(word)) return word.slice(0, -3);
    if (/[a-z]{3}[^e]ed$/i.test(word)) return word.slice(0, -2);
    if (/[^siu]s$/i.test(word)) return word.slice(0, -1);
    return word;
  }

  function important(text) {
    const adopted = text.replace(/\btak(?:e|ing) over\b/gi, "adopt");
    const words = adopted.replace(/[?!.,;]+(?=\s|$)/g, "").split(/\s+/).filter(Boolean);
    const kept = words.filter((word) => !fillers.has(word.toLowerCase()));
    return (kept.length ? kept : words).map(stem).join(" ");
  }

  let pages = [];
  let isLookUp = false;

  function isAside(result) {
    return /\/(reference|architecture|package)\/|gallery\.html/.test(pages[result.id] || "");
  }

  function reordered(event) {
    const message = event.data;
    if (isLookUp || message.type !== 3 || !Array.isArray(message.data.items)) return event;
    const found = message.data.items;
    const items = [...found.filter((each) => !isAside(each)), ...found.filter(isAside)];
    return new MessageEvent("message", { data: { ...message, data: { ...message.data, items } } });
  }

  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...others) {
    if (message && message.type === 0 && message.data && this.onmessage) {
      const show = this.onmessage;
      pages = message.data.items.map((item) => item.location);
      this.onmessage = (event) => show.call(this, reordered(event));
    }
    if (message && message.type === 2 && message.data && typeof message.data.input === "string") {
      isLookUp = /[a-z][A-Z]|[_.\d]|--/.test(message.data.input);
      message = { ...message, data: { ...message.data, input: important(message.data.input) } };
    }
    return post.call(this, message, ...others);
  };
})();
