// Recorded runs, fetched when they are looked at. A panel gets them like this:
//
//   systems.recorded.list(tools, fits)   those for which fits(asked) is true: [{name, title, why, asked}], in order;
//                                        asked: the values of a request that makes the run again
//   systems.recorded.read(tools, name)   a promise of {name, title, why, asked, trace}, or {error: one line}
//
// They are described in examples/presets_systems.yaml and recorded by examples/record.py. The same values, changed as
// one likes, are what tools.run(asked, changed) takes: lists as lists or as texts such as "3, 5".
const known = new Map();

const list = (tools, fits) => (tools.props.recorded || []).filter(({ asked }) => fits(asked));

async function read(tools, name) {
  if (known.has(name)) return known.get(name);
  const reply = await tools.ask("recorded_run", name);
  if (!reply.error) known.set(name, reply);
  return reply;
}

export { list, read };
