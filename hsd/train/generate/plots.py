"""The plots: who may play in them and, line by line, what happens.

Each plot is (kinds of hero, lines); see `stories` for the marks at the start of a line and `grammar` for the
syntax inside one. The friend `{B}` is always introduced by <afriend> or <stranger> before the name is used.
"""

# ruff: noqa: E501 (a plot's line is one template)
from __future__ import annotations

from hsd.train.generate.plots_more import MORE_SOURCES

_BOTH, _KID, _ANIMAL = ("kid", "animal"), ("kid",), ("animal",)

_SOURCES: list[tuple[tuple[str, ...], str]] = [
    (
        _KID,
        """
<opening>
{A} had a {color} {toy}[ that {he} loved very much|. It was {his} favorite toy|. {His} {grown} gave it to {him}|].

<oneday> {A} [took|carried] the {color} {toy} to the {spot}.
?<scene>
[When {he} got home|When it was time to go home|After a while|Later], the {toy} was [gone|not there|missing].
<unhappy>
{A} looked [<hidden>|everywhere|in every <room>] and <hidden>, but [{he} could not find it|it was not there].

<suddenly> <afriend> [came by|walked over|came to the door].
<asks>
"I [lost|cannot find] my {color} {toy}," [said {A}|{A} said|{he} answered].
<offers>
?<scene>
<finally> {B} [looked|saw something <color>|found something] <hidden>. It was the {color} {toy}!
~<happy>
~<thanks>
?<welcome>
?<lesson> [good friends help each other|it is good to ask for help|{he} should take care of {his} things].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>

<oneday> {A} [found|saw|spotted] a <look> {small} <hidden>.
[It shone in the sun.|It was {color} and <look>.|"What is this?" {he} [asked|said].|{He} picked it up and looked at it.]
{A} wanted to keep the {small}[ for ever|], but {he} [knew|thought] that [it was not {hers}|someone must have lost it|its owner would miss it].
?<scene>

{A} <goto> the {spot} and [asked|showed it to] a {job}. "Is this your {small}?" {A} asked. "No, [it is not mine|I never saw it before|mine is <color>]," [said the {job}|was the answer].
<then> {A} met <afriend>. {B} was [looking for something|<sad>|walking up and down with {bhis} eyes on the ground].
"Did you lose [something|a {small}], {B}?" asked {A}.
"Yes! My {small} [fell out of my pocket|is gone|got lost], and I [looked|searched] everywhere," said {B}.
{A} [held out|gave back|opened {his} hand and showed {bhim}] the {small}.
"[You found it|That is it|Oh, thank you, {A}]!" {B} [cried|shouted|said with a big smile].
?{B} gave {A} a <treat> [to say thank you|and a hug].
<happy>
<lesson> [it feels good to be honest|giving back is better than keeping|honest people make good friends].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} wanted to learn to {skill}. [All {his} friends could do it.|It looked like so much fun.|{He} dreamed of it every night.]

<oneday> {A} [tried|tried for the first time|went to the {spot} to try]. [It was hard.|It did not work.|{He} fell down.|It went all wrong.]
{A} tried again[, and again {he} could not do it| and again|, but it was still too hard].
<unhappy>
"I [can't|will never] do it," {he} said.

<then> <afriend> [saw {him}|came to the {spot}|heard {him}].
"[Do not give up|Don't stop now|It was hard for me, too], {A}," {B} said. "[I can show you|Try a little every day|Go slowly|Start with something small]."
So [every day|the next day|all week], {A} and {B} [practiced|tried] together.
?Sometimes {A} [fell down|made mistakes|wanted to stop], but {B} [helped {him} up.|said, "Try once more!"|told {him} a joke.]
?<scene>
<finally> {A} could {skill}!
~<happy>
~"[Look at me|I did it|I can do it], {B}!" {A} [shouted|cried|called].
?{B} clapped and [cheered|laughed|said, "I knew you could, {A}!"].
<lesson> [practice makes you better|you should never give up|hard things take time].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>

<oneday> {A} [went for a walk near|was playing by|was on {his} way to] the {spot}. <scene>
<suddenly> {he} heard <sound>[ from behind a <tree>|, and then another|].
?<fear>
{A} [looked|peeked] [<handle>|around] and saw <stranger>. {B} was stuck in [a hole|the mud|a bush|a net|a tree|an old fence].
"[Help|Please help me|Can you help me]!" {B} [cried|called]. "I [can't get out|am stuck|have been here all <span>]."
"[Don't worry|Stay calm|Hold on], I [will|can] help you," said {A}.

{A} [pulled|pushed|dug] and [pulled|pushed|dug], but {B} [did not move|was still stuck].
Then {A} had [an|a good|a clever] idea. {He} [found|took|ran to get] [a long stick|a rope|a big branch|a shovel|a long vine] and [used it to pull {B} out|told {B} to hold on tight|set to work].
<finally> {B} was free!
"Thank you, {A}! [You saved me|You are so <praise>|I was so <scared>]," {B} said.
<happy>
?{B} [shared {bhis} <fruit> with {A}|showed {A} {bhis} home|gave {A} a <color> feather].
?<lesson> [helping others is a good thing|even a small friend can be a big help|kind acts make friends].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>

<oneday> {A} and <afriend> [went to|were at|played at] the {spot}. They both saw a {color} {toy}[ in the grass| on a bench| by the gate|].
"[I saw it first|It is mine|I want it]!" said {A}.
"No, [I saw it first|it is mine|I want to play with it]!" said {B}.
They [pulled|grabbed] the {toy} and [shouted|yelled|argued].
?{A} was <cross>, and {B} was <cross>, too.
<suddenly> [the {toy} fell to the ground|the {toy} broke in two|they both fell down|a part came off the {toy}].

~<unhappy>
~{B} was <sad>, too.
{A}'s {grown} [came|heard the noise] and said, "[What happened|Why are you fighting], {A} and {B}? [You can take turns|You can share it|It is more fun to play together]."
"I am sorry, {B}," said {A}. "I am sorry, too, {A}," {B} [said|answered].
They [fixed|cleaned|picked up] the {color} {toy} [together|with some <material>]. First {A} had a turn, and then {B} had a turn.
<playtime>
<lesson> [sharing is more fun than fighting|it is good to share|friends are better than toys].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{He} was [always|often] hungry.

<oneday> {A}'s {grown} [made|baked|cooked] some {treats}. "[You may have one after supper|Please wait until they are cool|These are for the party]," {ghe} said.
The {treats} smelled so [good|sweet|nice]. {A} [looked|walked] around, and [no one was there|{he} was all alone].
{He} took one and ate it. Then {he} [took another one|ate two more|ate and ate until [all were gone|{his} tummy hurt]].
?<yummy>

Soon {his} {grown} came back. "Who ate the {treats}?" {ghe} asked.
{A} [wanted to say it was the <pet>|looked at {his} feet|turned red]. {His} [tummy|heart] hurt.
"It was me," {A} said [<adverb>|in a small voice]. "I am sorry, {Grown}."
{His} {grown} [hugged {him}|sat down next to {him}|was quiet for a moment]. "[Thank you for telling me the truth|I am glad that you told me|Next time, please wait]," {ghe} said.
Then {A} and {his} {grown} [made|baked] more {treats} together. {A} [mixed the flour|washed the bowls|broke the eggs|stirred and stirred].
?{A} gave the first one to <afriend>. "Thank you, {A}!" said {B}.
<happy>
<lesson> [it is best to tell the truth|good things are worth the wait|saying sorry makes things better].
<ending>
""",
    ),
    (
        _KID,
        """
<opening>

<oneday> {A}'s {grown} gave {him} a {plant}. "[Put it in the ground|Plant it|Take good care of it]," {ghe} said, "and [see what happens|wait|give it water every day]."
{A} [dug|made] a [small|deep] hole in the <land> and put the {plant} in it. {He} gave it water [every day|in the morning|from a <color> can].
?<scene>
But [nothing happened|it did not grow|days went by and there was only dirt].
<unhappy>

<then> <afriend> came to see. "[It needs time|Maybe it needs more sun|Plants are slow], {A}," said {B}.
So {A} [waited|was patient]. {B} [came every day to help|helped {him} pull the weeds|sang to the plant, and {A} laughed].
One <weather> <part>, {A} saw a [tiny|small|little] green leaf!
"Look, {B}! It is growing!" {A} [cried|shouted|called].
[It grew and grew.|Soon it was as tall as {A}.|In the summer it was full of <color> flowers.|Every week it was a little bigger.]
~<happy>
~{A} gave {B} [a flower|the best part|half of everything].
<lesson> [good things need time|it pays to be patient|love makes things grow].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>

It was {A}'s birthday, but [nobody said anything|everyone seemed busy|no one was home]. <unhappy>
{A} <goto> the {spot} to find <afriend>. "Do you want to play <game>, {B}?" {A} asked.
"[I can't|Not now|Maybe later], {A}. I have to {chore}," {B} [said|answered] and [ran off|hurried away].
?{A} thought that {B} had forgotten {him}.
?<scene>

<finally> {A} [went|walked] home[ with {his} head down|]. It was dark and quiet. {He} opened the door.
"Surprise!" [everyone shouted|called all {his} friends|shouted {B} and {his} {grown}].
There were <color> balloons, <treats>, and a big cake [with <fruit> on top|shaped like a <toy>|with <color> candles].
{B} gave {A} a {gift}. "Happy birthday, {A}!" {B} said.
<happy>
?They all [played <game>|danced and sang|ate cake and drank <drink>].
<thanks>
It was the best birthday ever.
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} was afraid of [the dark|thunder|deep water|loud noises|spiders|high places].

<oneday> {his} {grown} [said|told {him}], "{A}, [your <pet> ran out into the night|I left my <clothing> in the old shed|the <bird> fell from its nest|the lamp in the <room> went out]. Can you help me?"
<fear>
"I [will come|can come] with you," said <afriend>. "Take my hand, {A}."
{A} took a deep breath. They [went|walked] <handle>, step by step.
<suddenly> they heard <sound>. {A} [jumped|wanted to run|held on to {B}].
But {B} laughed. "It is only [the wind|a <critter>|an old door|a branch]!" said {B}.

{A} [looked|listened] again, and {B} was right. {A} laughed, too.
?<scene>
They did what {his} {grown} [asked|wanted], and [nothing bad happened|it was not so hard|soon they were home].
"You were very brave, {A}," said {his} {grown}. "And thank you, {B}."
<happy>
<lesson> [being brave means trying even when you are scared|scary things are smaller with a friend|there was nothing to fear].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} wanted to build a {build}.

<oneday> {he} [got|found|gathered] some {material} and some {material2} and started to work.
But the {build} [fell down|was crooked|broke|would not stand]. {A} tried again, but [the wind blew it over|it fell down once more|a piece was missing].
<unhappy>
<afriend> was [watching|walking by|nearby]. <asks>
"My {build} [keeps falling|will not stand|is no good]," {A} said.
"[Use more {material}|Put the big pieces at the bottom|We need something strong|Make it wider]," said {B}. "Let me help you."

{B} held the {material}, and {A} [put them in place|worked on the top|tied everything together].
?<scene>
They worked [all <span>|for a long time|until the sun went down].
<finally> the {build} was [done|ready|finished]. It was [big and strong|the best one in the {spot}|<color> and <color>|just right].
~<happy>
~"[We did it|Look what we made|It is perfect], {A}!" said {B}.
?They [sat|stood] next to it and ate <treats>.
<lesson> [working together makes hard things easy|two heads are better than one|a good plan helps].
<ending2>
""",
    ),
]


def _paragraphs(lines: list[str]) -> tuple[str, ...]:
    """Return the lines with a blank line before the day the story is about and before its end, if none is there."""
    if "" in lines:
        return tuple(lines)
    start = next((i for i, line in enumerate(lines) if line.startswith("<oneday>") and i > 0), 2)
    turn = next((i for i, line in enumerate(lines) if line.startswith(("<then>", "<finally>")) and i > start), 0)
    cuts = {start, turn or (start + len(lines)) // 2, len(lines) - 3}
    return tuple(part for i, line in enumerate(lines) for part in (["", line] if i in cuts else [line]))


PLOTS: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (kinds, _paragraphs(source.strip().split("\n"))) for kinds, source in _SOURCES + MORE_SOURCES
]
