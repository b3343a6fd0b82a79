"""The same with assistant_ensemble_weight 0.9, a knob that trades exactness for longer drafts."""

from functools import partial

import transformers_sampling

NOISE = transformers_sampling.NOISE
DTYPE = transformers_sampling.DTYPE
verify = partial(transformers_sampling.verify, weight=0.9)
