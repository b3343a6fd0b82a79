// A panel of runs with levels: recorded and live ones of one system, as lanes.
import * as panel from "../panel.js";
import { moments } from "../../step/lanes.js";
import { Player } from "./player.js";

/** The first moment at which a check keeps a part of a draft; the first of all where there is none. */
function telling({ steps }) {
  const part = ({ step, event }) => {
    const { tested, kept } = event === null ? { tested: [], kept: 0 } : steps[step].events[event];
    return kept > 0 && kept < tested.length;
  };
  return Math.max(0, moments(steps).findIndex(part));
}

/** spec: as of panel.js, its name being that of the system; stage: {title, hint, under, more}, of the player. */
function draw(root, tools, { fit, ...spec }) {
  const { name: system, stage } = spec;
  return panel.draw(root, tools, {
    ...spec,
    fits: (asked) => asked.system === system,
    fit: (asked) => fit({ ...asked, system }),
    player: (changed) => new Player({ ...stage, changed }),
    telling,
  });
}

export { draw };
