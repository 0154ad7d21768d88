// The box on the page of the rules: shows only the rules whose name, text, source or finding has every word, and their finding.
(() => {
  const place = document.getElementById("rule-search");
  const findings = window.ruleFindings || {};
  const input = Object.assign(document.createElement("input"), { type: "search", placeholder: "a message, or words of it" });
  input.setAttribute("aria-label", "Find a rule by a message");
  const count = Object.assign(document.createElement("p"), { role: "status" });
  place.append(input, count);

  const rows = [...document.querySelectorAll("li > a[id]")].map((anchor) => {
    const row = anchor.closest("li");
    const finding = findings[anchor.id] || "";
    return { row, finding, words: words(`${row.textContent} ${finding}`) };
  });
  const sections = [...new Set(rows.map((each) => each.row.closest("ul")))].map((list) => {
    let heading = list;
    while (heading && heading.tagName !== "H2") heading = heading.previousElementSibling;
    return { list, parts: [list, heading].filter(Boolean) };
  });

  function words(text) {
    return text.toLowerCase().match(/[a-z_]{2,}/g) || [];
  }

  // A pasted message has values and paths of its own, so a rule needs only most of its words.
  function matches(wanted, known) {
    const found = wanted.filter((word) => known.some((each) => each.startsWith(word))).length;
    return wanted.length < 4 ? found === wanted.length : found >= wanted.length * 0.7;
  }

  input.addEventListener("input", () => {
    const wanted = words(input.value);
    for (const { row, finding, words: known } of rows) {
      row.hidden = !matches(wanted, known);
      row.querySelector(".rule-finding")?.remove();
      if (wanted.length && !row.hidden && finding) {
        row.append(Object.assign(document.createElement("div"), { className: "rule-finding", textContent: finding }));
      }
    }
    for (const { list, parts } of sections) {
      const empty = ![...list.children].some((row) => !row.hidden);
      for (const part of parts) part.hidden = empty;
    }
    const left = rows.filter((each) => !each.row.hidden).length;
    count.textContent = wanted.length ? `${left} of ${rows.length} rules` : "";
  });
})();
