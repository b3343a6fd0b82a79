// What happened in a step, in sentences for a student. Pure: sentence parts, see dom.prose.
(function (hsd) {
  "use strict";

  const { pair, plural, number } = hsd.format;
  const { ruleInfo } = hsd.model;
  const word = (decision) => ({ draft: "the whole draft", token: `token ${decision.node}` })[decision.test];

  /** The headline, how the rule came to it, why the rules part here, and what must be said about the rule. */
  function story(view) {
    return { lead: lead(view), detail: detail(view), why: why(view), warning: warning(view) };
  }

  function lead(view) {
    const { step } = view;
    if (step.drafted === 0) return [{ strong: "Nothing was drafted" }, " — the target wrote one token by itself."];
    const kept = { strong: `Kept ${step.kept} of ${step.drafted}` };
    if (!step.shadow)
      return [kept, step.nodes.length ? "." : " — this run was recorded without the details of its steps."];
    if (view.sameRule) return [kept, " — this run is vanilla itself: ", ...otherReason(view, false), "."];
    const other = ruleInfo(step.shadow.rule).name;
    if (!view.differs) return [kept, ` — ${other} would have kept the same: `, ...otherReason(view, false), "."];
    const amount = step.shadow.kept === step.drafted ? `all ${step.drafted}` : String(step.shadow.kept);
    return [kept, ` — ${other} would have kept ${amount}, because `, ...otherReason(view, true), "."];
  }

  /** Why the other rule stopped where it did: a token-wise one at its first failure, any other at its first success. */
  function otherReason(view, its) {
    const { decisions } = view.shadow;
    if (decisions.length && decisions[0].test !== "token") return successReason(view, decisions);
    const failed = decisions.find((decision) => !decision.accepted);
    if (!failed) return [`${its ? "each of its coins" : "every coin"} was below its threshold`];
    const [coin, threshold] = pair(failed.coin, failed.threshold);
    const position = view.depth.get(failed.node);
    return [`${its ? "its" : "the"} coin for token ${position} (${coin}) was not below ${threshold}`];
  }

  function successReason(view, decisions) {
    const passed = decisions.find((decision) => decision.accepted);
    if (!passed) return ["none of its tests passed"];
    const [coin, threshold] = pair(passed.coin, passed.threshold);
    const title = testTitle(view, passed);
    return [`its coin for the ${title[0].toLowerCase()}${title.slice(1)} (${coin}) was below ${threshold}`];
  }

  function detail(view) {
    if (!view.detail) return [];
    const told = view.rule === "tokenwise" ? forward(view) : backward(view);
    return [...told, ...following(view)];
  }

  function forward(view) {
    const failed = view.own.decisions.find((decision) => !decision.accepted);
    if (!failed) return ["Token by token, every test passed. "];
    const position = view.depth.get(failed.node);
    const unseen = view.step.drafted - position;
    const before =
      position === 1
        ? "The very first token failed"
        : `Token by token, ${position - 1} passed and token ${position} failed`;
    return [
      `${before}${unseen > 0 ? `; the ${unseen} after it ${unseen === 1 ? "was" : "were"} thrown away unread` : ""}. `,
    ];
  }

  function backward(view) {
    const [first, ...others] = view.own.decisions;
    if (!first) return [];
    const name = view.own.info.name;
    const opening = `${name[0].toUpperCase()}${name.slice(1)} tests ${first.test === "token" ? word(first) : "the whole draft first"}`;
    if (first.accepted)
      return [`${opening}: the coin ${compare(first)}, so all ${view.step.drafted} tokens stay at once. `];
    const parts = [`${opening}: the coin ${compare(first)}, so it steps back. `];
    const passed = others.find((decision) => decision.accepted);
    if (!passed) return [...parts, "No shorter part passed either: the draft is dropped. "];
    const length = view.depth.get(passed.node);
    const steps = others.length - 1;
    const between = steps > 0 ? `After ${plural(steps, "more step")} back, the` : "The";
    return [
      ...parts,
      `${between} first ${length === 1 ? "token" : plural(length, "token")} passed: ${compare(passed)}. `,
    ];
  }

  function compare(decision) {
    const [coin, threshold] = pair(decision.coin, decision.threshold);
    return decision.accepted ? `${coin} is below ${threshold}` : `${coin} is not below ${threshold}`;
  }

  /** The token that follows the kept ones. */
  function following(view) {
    const drawn = view.drawn;
    if (!drawn) return view.step.kept ? ["The text ends here, so nothing follows."] : [];
    const token = { piece: drawn.piece, origin: drawn.origin };
    if (drawn.origin === "bonus") {
      return view.step.drafted
        ? ["All were kept, so ", token, " comes free, drawn from the target."]
        : [token, " was drawn from the target."];
    }
    const replaced = view.spine.map((id) => view.nodes.get(id)).find((node) => node.parent === view.decided);
    const place = replaced ? ["replaces ", { piece: replaced.piece }] : ["follows"];
    return [token, " ", ...place, ", drawn from what the draft gave too little of.", ...extraCalls(view)];
  }

  /** One sentence on why two rules can part on the same draft and coins. */
  function why(view) {
    if (!view.differs || view.sameRule || !view.detail || view.rule === "tokenwise") return "";
    const name = view.own.info.name;
    if (view.step.kept > view.step.shadow.kept)
      return `Vanilla judges every token alone and stops at the first failure; ${name} judges them together, so the rest of the draft can make up for one weak token.`;
    return `One step can go either way: the two rules put the same coins to different questions. ${view.rule === "hsd-released" ? "" : `Over many drafts ${name} keeps more.`}`;
  }

  function extraCalls(view) {
    const more = view.drawn.extra.length;
    if (!more) return [];
    return [` ${plural(more, "further token")} followed, each at the price of one more target call.`];
  }

  function warning(view) {
    if (view.rule === "hsd-released") {
      return "Not lossless: the released code tests the whole draft without the cap, so it accepts more than it may, and its text does not follow the target exactly.";
    }
    if (view.rule === "naive-hsd" && view.drawn && view.drawn.extra.length) {
      return `Naive HSD pays for keeping more: this step took ${number(view.step.target_calls)} target calls instead of one.`;
    }
    return "";
  }

  /** One decision as a title: "Whole draft, 5 tokens", "First 4 tokens", "Token 2". */
  function testTitle(view, decision) {
    const position = view.depth.get(decision.node);
    if (decision.test === "draft") return `Whole draft, ${plural(position, "token")}`;
    return decision.test === "prefix"
      ? `First ${position === 1 ? "token" : plural(position, "token")}`
      : `Token ${position}`;
  }

  const VERDICTS = {
    kept: { icon: "✓", word: "kept" },
    rejected: { icon: "✕", word: "rejected" },
    over: { icon: "«", word: "stepped over" },
    unreached: { icon: "–", word: "not reached" },
    correction: { icon: "▲", word: "correction" },
    bonus: { icon: "◆", word: "bonus" },
    plain: { icon: "◆", word: "from the target" },
    candidate: { icon: "", word: "not drafted" },
  };

  hsd.story = { story, testTitle, compare, VERDICTS };
})(window.hsdPlayer);
