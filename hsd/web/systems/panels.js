// The panels of the Systems screen, in the order of their buttons.
//
// A panel is {name, title, sections: [draw, …]}. draw(root, tools) fills root, an empty div, when the panel is opened for
// the first time; nothing runs before that. It may return {drawn, opened(), closed(), link()}: a promise to be waited for before it is seen; called when the panel comes into
// view (also the first time) and leaves it (another panel, another tab); link() gives the parameters that reproduce the
// section in a link, as {name: text}. Names must not be ones that others use: tab, panel, plan (the planner), step, node,
// and those of a run (pair, prompt, gamma, …) unless they mean a run: a link with a prompt also starts that run on Watch.
//
// tools:
//   content             the recorded runs and the planner's inputs
//   query               URLSearchParams of the page's own link if it asked for this panel, else empty
//   ask(name, argument) what the door answers; {error: one line} where it refuses
//   run(asked, told)    a live run (answers/run.js) with these options. told: changed(live, fresh)
//                       is called when there is news, left() before a new run on any panel ends it
//   changed()           what link() says has changed
//   copyLink()          copy the link of what is shown, and say so
//   tell(values)        put values into window.__hsdSystems, for tests
//
// Every panel's root has the player's class, so that its CSS variables (--hp-ink, --hp-kept, …) and buttons work.
import { why } from "../answers/answers.js";
import { elsewhere } from "../kit/parts.js";
import * as eagle from "./eagle/panel.js";
import * as fsd from "./fsd/panel.js";
import * as hispec from "./hispec/panel.js";
import * as planner from "./planner/panel.js";
import * as stack from "./stack/panel.js";

const plans = why("plan_stack") ? (root) => root.append(elsewhere(why("plan_stack"))) : planner.draw;

const panels = [
  { name: "stack", title: "Model stack", sections: [stack.draw, plans] },
  { name: "hispec", title: "HiSpec", sections: [hispec.draw] },
  { name: "fsd", title: "FSD", sections: [fsd.draw] },
  { name: "eagle", title: "EAGLE-3 trees", sections: [eagle.draw] },
];

export { panels };
