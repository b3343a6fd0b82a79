"""More plots, in the form that `plots` describes."""

# ruff: noqa: E501 (a plot's line is one template)
from __future__ import annotations

_BOTH, _KID, _ANIMAL = ("kid", "animal"), ("kid",), ("animal",)

MORE_SOURCES: list[tuple[tuple[str, ...], str]] = [
    (
        _BOTH,
        """
<opening>
<oneday> {A} wanted to bake a {onefruit} [pie|cake] for {his} {grown}.
{He} put [flour|sugar|eggs] and <fruit> into a <color> bowl, but [there was no milk|the bag of sugar was empty|{he} dropped the spoon].
?{A} looked [<hidden>|on every shelf], but [there was none|the kitchen was empty].
<unhappy>
{A} <goto> see <afriend>. "{B}, do you have any [milk|sugar|butter|flour]?" {he} asked.
"[Yes|Of course|Sure], {A}! [Take all you need|I have plenty|Here is a full <container>]," said {B}. "May I help?"
Together they [mixed|stirred|poured] and [tasted|sang|laughed]. There was flour on {A}'s nose and [jam|sugar|butter] on {B}'s [ears|hands|clothes].
?"You look like a [ghost|snowman|<color> <critter>], {B}!" {A} [giggled|laughed|said].
When it was done, the [house|kitchen] smelled of <fruit> and [honey|sugar|warm bread].
{A}'s {grown} [took a bite|tried some|came in]. "[Yum|Oh my], this is [the best|so sweet|wonderful]! Thank you, {A} and {B}," {ghe} said.
<happy>
<lesson> [cooking is more fun with a friend|a gift made by hand is the best gift|neighbors can help].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
<oneday> a <big> storm came. [The wind howled|Thunder rumbled|Rain beat on the windows] and the lights went [out|off].
<fear>
{A} [hid under the blanket|held {his} {toy} tight|ran to {his} {grown}]. "[Is the house safe|When will it stop|Will the roof fly away], {Grown}?" {he} asked.
"[Yes, we are safe here|It is only rain and wind|Storms always pass], {A}," said {his} {grown}. {Ghe} lit a [candle|lamp|small fire].
They [told stories about a <critter> and a <job>|made shadows of <animals> on the wall|sang softly|counted the time between flashes].
?They ate <treats> and drank <drink> [on the floor|by the light|under a blanket].
<suddenly> there was [a tap at|a knock on] the door. It was <afriend>, all wet.
"[My house is dark, too|I was scared alone], {A}," said {B}. "Can I stay with you?"
"[Come in|Of course|Please do], {B}! Here is a <color> <clothing>," said {A}.
{A} was not <scared> any more, because {he} had to help {B}.
In the morning [the sun was out|there was a rainbow over the <outside>|the birds were singing]. They [ran out|put on their boots] and jumped in every puddle.
<lesson> [storms do not last|helping a friend makes you brave|it is nice to be together].
<ending2>
""",
    ),
    (
        _ANIMAL,
        """
<opening>
Winter was coming, and {A} had [no food|only three nuts|nothing to eat] in {his} home.
All summer, {A} had [played <game>|slept in the sun|danced with the <critters>].
<oneday> the [snow|frost] came, and {A} was [hungry|cold] and <sad>.
{He} <goto> the home of <afriend>. {B} had worked hard and had a big pile of <fruit>.
"Please, {B}, can you [share|give me some food|help me]?" {A} asked [softly|in a small voice].
{B} [thought about it|looked at {him}|was quiet]. "What did you do all summer, {A}?" {bhe} asked.
"I [only played|slept|forgot to gather food]," {A} said. "I am sorry."
"[You may stay with me|I will share|Sit by my fire]," said {B}, "but [next year we will work together|in the spring you must help me|you have to {chore} for me]."
{A} [nodded|agreed|gave {bhim} a hug]. All winter they ate <food> and [told stories|played <game>|kept warm].
?<scene>
When the spring came, {A} was the first to [work|get up|carry <fruit>]. "[Come on|Hurry|Good morning], {B}!" {he} called.
<happy>
<lesson> [there is a time to work and a time to play|it is good to plan|a kind friend is better than gold].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} and <afriend> [wanted to see who was faster|liked to race|talked about who was best].
"I am [faster than the wind|the fastest of all|much faster than you]!" said {A}. "[We will see|Maybe|Let us race to the {spot}], {A}," said {B}.
<oneday> they stood [by the gate|under a <tree>|on a line in the sand]. A {job} counted to three.
{A} ran [very fast|like the wind|ahead] and soon {he} could not see {B} any more.
{He} [stopped to eat <fruit>|sat down under a <tree>|played with a <critter>|took a nap]. "I have so much time," {he} thought.
But {B} [did not stop|went on and on|walked <adverb>, step by step].
?<scene>
When {A} [woke up|looked up], {B} was [almost there|far ahead|near the end]. {A} ran [and ran|as fast as {he} could], but it was too late.
"[I won|You were fast, but I did not stop|I made it]!" said {B}. {A} was <sad> at first.
Then {he} [smiled|shook {B}'s hand|laughed] and said, "[Well done|Good job|You did great], {B}. [I should not have stopped|You never gave up|I was too proud]."
{B} shared {bhis} prize, a <color> [ribbon|cup|medal] and some <treats>, with {A}.
<lesson> [slow and steady is a good way to go|you should not show off|it does not matter who wins].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
It was {A}'s first day at a new school. <fear>
{His} {grown} gave {him} a <color> [bag|lunch box|pencil|<clothing>] and a kiss. "[You will do well|Be brave|Have fun], {A}," {ghe} said.
In the room there were [many children|<color> chairs|big maps|a fish tank], but {A} did not know [anyone|a single face|where to sit].
?The teacher [smiled|read a book about a <animal>|showed them a <bird>].
At lunch, {A} sat alone and ate {his} <food>. <unhappy>
<then> <stranger> [sat down|came over|waved]. "[Can I sit here|Do you like <fruit>|What is your name]?" asked {B}.
"[Yes|Hello], I am {A}," {he} said. "[I like your <clothing>|I am new here]."
"I am {B}. [I was new last year|You can play with us|Let us trade: my <treat> for your <onefruit>]," said {B}.
They [ate|talked about <animals>|found that they both loved <fruit>]. After lunch they played <game> and drew a <color> <animal>.
When {his} {grown} came, {A} ran to {ghim}. "[Guess what|I have a friend], {Grown}! My friend's name is {B}!" {he} said.
<happy>
<lesson> [new things are not so bad|every friend was new once|one kind word can change a day].
<ending>
""",
    ),
    (
        _BOTH,
        """
<opening>
<oneday> {A} was [walking|playing] in the woods near the {spot} and followed a <color> [butterfly|bird|beetle].
When {he} looked around, {he} did not know the way home. All the trees looked the same.
<unhappy>
<fear>
?"{Grown}! {Grown}!" {A} called, but [nobody answered|only the wind answered].
A <critter> sat on a [branch|log|stone]. "Can you tell me the way?" {A} asked. "[I only know the way to my nest|Ask the wind|Go where the <flowers> grow]," it [said|answered].
?{A} [walked|went] past a [broken fence|black pond|stone wall] and a <tree>.
<then> {A} met <afriend>. "{B}! [I am lost|I can't find my home]!" {A} [cried|said].
"[I know the way|We only have to follow the stream|Look for the <color> roof|I live close to it], {A}. [Take my hand|Come with me]," {B} said.
They [walked past|crossed] [the old well|a bridge|a field of <flowers>|three big rocks] and [sang a song|counted steps|ate <fruit>].
<finally> {A} saw {his} home, and {his} {grown} was [at the door|waiting with a lamp|calling {his} name].
"I was so worried, {A}," said {his} {grown}. "[Stay close next time|Thank you, {B}]."
<thanks>
<lesson> [{he} should not go too far alone|it is good to look where you go|a friend can show the way].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} loved to tell tall tales.
<oneday> {A} shouted, "[Help|Look out|Run]! There is a [wolf|snake|fire|monster] [in|by] the <outside>!"
<afriend> [ran|came running] with a [stick|bucket|rope]. "Where is it, {A}?" {B} asked.
{A} [laughed|giggled|fell over laughing]. "[It was a joke|I made it up|I tricked you], {B}!" {he} said.
{B} was <cross>. "That is not funny," {bhe} said and went home.
The next day, {A} [did it again|played the same trick], and again {B} came for nothing.
?<weatherline>
But on the third day, {A} [fell into a hole|got stuck in a <tree>|slipped into the mud] for real. "Help, {B}! Help!" {he} [cried|called].
{B} heard {him}, but {bhe} thought, "[It is only a trick|{A} is joking again|I will not go this time]."
{A} waited [all <span>|for a long time|until it was dark]. <unhappy>
<finally> {B} came to look[ after all|, just to be sure,] and [helped {A} out|pulled {A} up|got a ladder].
"I am sorry [that I lied|for my tricks|I fooled you], {B}," said {A}. "I [will not|promise never to] do it again."
"[I am glad you are safe|I forgive you|Good], {A}," {B} said.
<lesson> [nobody believes someone who lies|it is best to tell the truth|tricks can hurt].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
{A} had a {walkpet}. It was [<color> and white|small and <color>|soft and fat], and it loved <food>.
<oneday> the {walkpet} [ran out of the gate|was gone|jumped out of the window|got away at the {spot}].
<unhappy>
{A} called and called. {He} looked <hidden> and <hidden>.
?"[Have you seen|Did you see] my {walkpet}?" {A} asked a {job}. The {job} [did not know|pointed to the {spot}|had seen nothing].
<afriend> [put up posters|brought some <food>|came to help]. "[It must be hungry|Maybe it went to the {spot}|Let us listen], {A}," {B} said.
They put a bowl of <food> [by the door|under a <tree>|on the step] and [waited|hid behind a bush|kept very quiet].
<suddenly> they heard a [soft|tiny|sad] sound. The {walkpet} was <hidden>!
?It was [wet|dirty|cold|covered with leaves], but it was [safe|not hurt].
{A} [hugged|kissed|picked up] the {walkpet}. "[Never run away again|I missed you so much|You silly {walkpet}]!" {he} said.
<thanks>
?<welcome>
That night, the {walkpet} [slept on {his} bed|ate two bowls of <food>|did not leave {his} side].
<lesson> [pets need care|{he} must close the gate|friends help you look].
<ending>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} had the [best|loudest|most beautiful] voice, but {he} was too shy to sing.
There was going to be a [big show|party|contest] at the {spot}. <afriend> wanted to play the {instrument}.
"[Sing with me|Let us do it together|You should sing], {A}!" said {B}. "[I can't|Everyone will look at me|What if I forget the words]," said {A}.
?<fear>
Every <part>, they practiced [<hidden>|in the barn|where no one could hear]. {A} sang and {B} played the {instrument}.
<oneday> it was time for the show. {A} [looked out|saw the crowd] and [wanted to run away|felt {his} knees shake|could not speak].
"[Look only at me|Close your eyes|Take a deep breath], {A}," {B} whispered.
{B} began to play. {A} [opened {his} mouth|closed {his} eyes|held {bhis} hand], and then {he} sang [softly|proudly|loudly|a song about the <outside>|like a bird].
[Everyone listened.|It was so quiet.|A {job} wiped away a tear.] Then they all [clapped|cheered|stood up].
~<happy>
~"[We did it|You were great|I knew it], {A}!" said {B}.
They won a <look> <color> [cup|ribbon|prize] and a basket of <treats>.
<lesson> [it is okay to be nervous|you can do more than you think|a friend can give you courage].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
<oneday> {A} saw a {color} [bottle|box|door|lamp] <hidden>. [It glowed|It hummed|There was a star on it].
When {he} touched it, a tiny [fairy|wizard|elf|genie] came out! "[I give you one wish|You may have a wish|Make a wish], {A}," it said.
{A} thought [hard|for a long time]. {He} could wish for [a <toy>|a hundred <treats>|a <vehicle>] or [a <pet>|a castle|wings].
?"I wish for a mountain of <treats>!" {he} almost said.
Then {he} saw <afriend>. {B} was [sick in bed|<sad>|all alone|crying], because [{bhis} <pet> was lost|{bhis} leg hurt|nobody came to play|{bhis} house was cold].
"I wish that {B} would be [well|happy|all right] again," said {A}.
The [fairy|little one|tiny thing] [smiled|clapped]. [There was a flash|Stars flew through the air|The wind blew], and {B} [jumped up|laughed|was happy again].
"[What happened, {A}?|I feel great!|How did you do that, {A}?]" said {B}. "[It was magic|I made a wish|Someone small helped us]," {A} [said|answered].
?"Because you were so kind, here is a {gift} for you, too," said a [soft|tiny] voice.
<happy>
<playtime>
<lesson> [giving makes you happy|a friend is worth more than any toy|kind wishes are the best].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
{A} [did not like|hated] {food}. "[Yuck|I will not eat it|It looks funny]!" {he} said every time.
<oneday> {his} {grown} made {food} [for supper|with cheese|in a big pot]. {A} [pushed the bowl away|crossed {his} arms|made a face].
"[Just one bite|Please try it|It makes you strong], {A}," said {his} {grown}. "[No|Never|I want <treats>]!" said {A}.
?{His} {grown} [sighed|did not get angry|smiled a little].
<then> <afriend> came [to visit|in|to eat with them]. "[Mmm, is that {food}|I love {food}|What smells so good]?" said {B}. "May I have some?"
{B} ate [one bowl|it all] and asked for more. {A} [watched|was surprised|looked at {bhis} happy face].
"Is it really good, {B}?" {A} asked. "[It is the best|Try it and see|It tastes like <fruit>]," {B} answered.
{A} closed {his} eyes and took [a small|one tiny] bite. [It was warm and sweet.|It was not bad at all.|It was good!]
{He} took another bite, and another, until the bowl was [empty|clean].
"[More, please|I like it|I was wrong], {Grown}!" said {A}. They all laughed.
<lesson> [you should try new things|you can't know before you try|food is more fun with friends].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} found a [old|torn|yellow] map <hidden>. There was [an X|a red cross|a star] [near|by] the {spot}.
"It is a treasure map!" {A} told <afriend>. "[Let us find it|Come with me|We will be rich], {B}!"
They packed [a rope|a lamp|<fruit>|<treats>] and [a shovel|some <drink>|a <color> flag] and set off.
First they [crossed a stream|climbed over a wall|ran over the bridge|jumped over a pile of <material>]. Then they [went|walked|crept] past [a dark cave|a bush full of thorns|a field of <flowers>].
?<scene>
?<suddenly> they heard <sound>. "What was that, {B}?" {A} whispered. It was only a <critter>.
At the X, they dug [and dug|all <span>|until their hands hurt]. [Clunk|Thump|Bang]! There was a <look> {container}.
Inside there was no gold. There was [a <toy>|an old book|a photo|a {small}] and a note: "[Share this with a friend|The best treasure is a friend|You are brave and clever]."
~{A} [laughed|smiled|looked at {B}]. "[It is true|We had fun|I found the best treasure], {B}," {he} said.
~They put [a <small>|a drawing|some <treats>] into the {container} [for the next finder|and hid it again].
<happy>
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
<oneday> {A} [borrowed|asked for] a {color} {toy} from <afriend>. "[Be careful with it|Please bring it back|It is my favorite], {A}," said {B}.
{A} [played with it all <span>|took it to the {spot}|showed it to everyone]. But {he} was [careless|in a hurry], and [it fell on a rock|it dropped into the mud|a <pet> bit it|a part came off].
"Oh no! The {toy} is [broken|ruined|dirty]," {A} said. <unhappy>
{He} wanted to [hide it <hidden>|say that a <critter> did it|stay at home].
?But {A}'s {grown} said, "[Tell {B} the truth|A friend will understand|What would a good friend do], {A}?"
So {A} <goto> {B}'s home. "I [broke|hurt] your {toy}, {B}. I am so sorry," {he} said.
{B} was <sad>. Then {bhe} said, "[Thank you for telling me|I am not angry|It was an accident], {A}."
They [got|found] some {material} and [fixed it|made it clean|put it together] at the table. It took [all <span>|an hour|a long time].
The {toy} looked [almost new|even better|a little funny, but it worked].
?{A} gave {B} {his} own <toy> [to keep|for a week|to say sorry].
<lesson> [it takes courage to say sorry|we must be careful with things that belong to others|the truth is best].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
<oneday> {A}'s {grown} asked {him} to {chore}. "[I don't want to|Later|It is boring], {Grown}," said {A}.
{He} [lay on the grass|played with a <toy>|went to the {spot}] instead.
<then> <afriend> came by, singing. "[I have to {chore2}|I am helping at home], {A}. [It is fun if you sing|It will be done soon]," said {B}.
"How can work be fun?" {A} asked. {B} [laughed|winked]. "[Make it a game|Sing a song|Count to ten and see how far you get]," {bhe} said.
{A} went home and [tried it|started]. {He} [sang loudly|pretended to be <dream>|made up a silly song about a <animal>].
?The <pet> [watched|sang along|ran around {his} feet].
[Soon|Before {he} knew it], all the work was done. {His} {grown} could not believe it.
"[What a good helper|I am so proud|How nice it looks], {A}!" {ghe} said and gave {him} [a <treat>|a big hug|some <fruit>].
{A} ran to tell {B}. "[You were right|It worked|It was fun], {B}!" {he} said.
<playtime>
<lesson> [work can be fun|it feels good to help|a song makes work light].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
It [snowed|had snowed] all night. {A} [looked out|jumped out of bed] and saw that [the whole {spot}|every tree|the road] was white.
{He} put on {his} <color> <pairwear> and <color> <clothing> and [ran|went] outside.
<afriend> was there, too. "[Let us make a snowman|Catch|Look at all the snow], {A}!" {B} called.
They rolled a [big|huge] ball, a smaller one, and a [tiny|round] one. They used [a carrot|a <onefruit>|a pine cone] for the nose and [stones|buttons|nuts] for the eyes.
?"It needs a <clothing>," said {A}, and {he} gave it {his} own.
?They named it Mister [Frost|Cold|Button|Snow].
<suddenly> a [strong wind|<walkpet>|ball] [knocked it over|hit it], and the head [fell off|rolled away].
<unhappy>
"[We can make it again|Don't worry|Snow is all around us], {A}," said {B}. So they worked until their [noses were red|hands were cold|snowman was tall again].
Then {A}'s {grown} called them in for [hot cocoa|soup|warm <treats>].
From the window they [waved|looked] at the snowman, and {A} was sure that it [smiled|winked|waved back].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
<oneday> {A} was [sick|ill] and had to stay in bed. {His} [head hurt|nose was red|tummy hurt|throat was sore].
{His} {grown} brought {him} [warm <food>|<drink>|a soft blanket|a book about <animals>]. "[You must rest|Sleep a little|Tomorrow you will feel better], {A}," {ghe} said.
{A} [looked out of the window|could hear the others play <game>|counted the cracks in the wall]. <unhappy>
<then> there was [a knock|<sound>]. It was <afriend> with a {gift}!
"[I heard that you are sick|I missed you|This is for you], {A}," {B} said.
{B} [told {him} a funny story about a <animal> and a <job>|sang a silly song|made faces|drew a <color> <animal> for {him}].
{A} laughed so much that [{he} forgot that {he} was sick|the bed shook|{his} {grown} came to look].
?They [played <game> on the bed|shared some <fruit>|looked at clouds through the window].
The next morning, {A} [jumped out of bed|felt strong again|was well].
<thanks>
?<welcome>
<lesson> [laughing helps|a visit can be the best medicine|it is good to think of sick friends].
<ending2>
""",
    ),
    (
        _ANIMAL,
        """
<opening>
{A} was [much smaller than|not as strong as|slower than] the others, and sometimes they laughed at {him}.
"I wish I were [big|strong|fast]," {A} [said|thought] every night.
<oneday> <afriend> [lost|dropped] a {small} [down a deep hole|in a crack in the rock|under the old bridge]. It was very important to {bhim}.
A <big> [bear|lion|horse] tried to [reach|get] it, but its paws were too big. A [wolf|dog|crow] tried, but it could not [fit|see] inside.
"[Who can help me now?|I will never see it again!|What can I do?]" {B} cried.
"Let me try, {B}," said {A}. [They all laughed.|"You?" said the others.|Nobody believed {him}.]
{A} [took a deep breath|was a little scared] and [went|crawled|slipped] into the [dark|narrow] hole. [It was dark and cold.|There were spiders.|{He} felt with {his} paws.]
<finally> {he} came out with the {small}!
[Everyone cheered.|The others stopped laughing.|All were surprised.] "[You are the only one who could do it|Small can be great|You are my hero], {A}!" said {B}.
<happy>
<lesson> [being small can be a good thing|everyone can do something well|it does not matter how big you are].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
<oneday> {A} and <afriend> saw a {bird2} with a hurt [wing|leg|foot] <hidden>.
"[Poor thing|We must help it|It can't fly], {B}!" said {A}. "[Be gentle|Let us take it home|We need a box], {A}," said {B}.
They put it in a {container} with [soft grass|an old <clothing>|cotton|warm leaves]. {A} gave it [water|seeds|crumbs of <food>] and {B} [sang to it|made it a bed|kept watch].
?A [vet|<job>] looked at it and said, "[It needs rest|You did well|Give it time]."
Every day, {A} and {B} [cared for|fed|talked to] the {bird2}. They named it [Sky|Cloud|Star|Sunny].
?<scene>
After [a week|many days], the {bird2} [hopped|flapped its wings|chirped loudly].
{A} [wanted to keep it|was sad to let it go]. "[It wants to fly|Its home is the sky|It will come back], {A}," said {B}.
So they [opened the window|took it to the {spot}|held it up], and it flew [up, up into the sky|over the trees|in a big circle].
{A} [waved|cried a little|smiled]. The next spring, [a <bird> sang at {his} window|the {bird2} came back with its babies].
<lesson> [loving means letting go|small animals need our help|kindness comes back].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
{A}'s family went [to the beach|on a picnic|camping by the lake]. {His} {grown} packed {food}, <fruit> and <treats>.
?<weatherline>
{A} met <stranger> there. "[Do you want to build a sandcastle|Can I play with you|Do you like to dig], {A}?" {B} asked after a while.
They dug with [spoons|their hands|a <color> shovel] and found [a crab|a <look> shell|a bottle|an old coin].
When they went back to eat, the [basket|bag] was [open|empty]! "Who took our {food}?" asked {A}.
{A} saw [tiny prints|crumbs|a trail of seeds] on the ground. "[Follow me|Look here|A clue], {B}!" {he} said.
They followed it [past a rock|behind the bushes|around a <tree>] and found a [family of <critters>|fat <critter>|<walkpet>] with [crumbs|jam|bits of {food}] all over.
~{A} [laughed|could not be angry]. "[It was hungry|It looks so funny], {B}," {he} said.
~{B} [laughed|giggled], too, and [gave it a <onefruit>|shared {bhis} <treats> with {A}].
{A}'s {grown} [made|bought] some <treats> [for all of them|on the way home].
<lesson> [it is better to laugh than to be angry|you should close the basket|sharing makes a good day].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} had a [strange|funny|bad] dream. In the dream, {he} could [fly|talk to <animals>|breathe under water] and {he} met a <big> <color> [dragon|<animal>|fish].
"[Come with me|Do not be afraid|Sit on my back]," said the [dream friend|big one]. They [flew|went|sailed] over [a sea of <drink>|mountains made of <food>|clouds that tasted like <fruit>].
?There were <treats> on the trees and <color> <flowers> that [sang|danced|laughed].
<suddenly> {A} [fell|slipped] and woke up. {He} was in {his} bed, and [it was morning|the moon was shining|the <pet> licked {his} nose].
{A} <goto> <afriend> and told {bhim} all about it. "[I want to go back|It was so real], {B}," {A} said.
"[Let us draw it|We can make our own dream land|Tell me more], {A}!" said {B}.
They took [paint|crayons|<material>] and [made|drew] a <color> [dragon|castle|sky] with <look> [wings|windows|stars].
They [hung it on the wall|put it over the bed|showed it to {A}'s {grown}].
That night, [both of them dreamed of it|{A} smiled in {his} sleep|{A} saw {his} big friend again].
<lesson> [you can make your dreams with your hands|dreams are fun to share].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
<oneday> {A} and {his} {grown} went to the [market|shop|store] to buy <fruit>, <food> and a <treat>.
There were so many [people|things]! {A} stopped to look at a {color} {toy} [in a window|on a shelf].
When {he} turned around, {his} {grown} was gone. <fear>
<unhappy>
"[Stay where you are|Never go with strangers|Ask for help]," {his} {grown} had told {him}. So {A} [stood still|went to a <job>|waited next to the <fruit>].
A {job} [asked|bent down and asked], "[Are you lost|What is your name], little one?" "I am {A}, and I can't find my {grown}," {he} said.
?The {job} gave {him} a <onefruit> and [held {his} hand|called loudly].
<suddenly> {A} heard {his} name. "{A}! [There you are|I looked for you everywhere]!" It was {his} {grown}.
{A} [ran|jumped] into {ghis} arms. "I did what you told me, {Grown}," {he} said.
"You were very [smart|brave|good]," said {his} {grown}[ and hugged {him}| with tears in {ghis} eyes].
?On the way home they met <afriend>. {A} told {B} the whole story, and {B} said, "I would do the same, {A}."
<happy>
<lesson> [it is good to listen|staying calm helps|{he} should stay close].
<ending>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} and <afriend> [did not talk|were cross with each other], because [{A} broke a promise|{B} laughed at {A}'s <clothing>|{A} ate all the <treats>|both wanted to be first].
<oneday> {A} [sat alone|played alone] [by|near] the {spot}. [The game was no fun.|{He} missed {B}.|A <bird> sang, but {he} did not listen.]
"I wish [{B} were here|I could say sorry|we were friends again]," {A} [thought|said to a <critter>].
{He} [made|drew|wrote] a card with a <color> [heart|star|flower] on it. Inside it said: "[Sorry|I miss you|Please come back], {B}."
{A} [put it at {bhis} door|asked a <job> to bring it|left it <hidden>] and waited.
?<scene>
?The whole <part> nothing happened. <unhappy>
<then> {B} came, and {bhe} had a card, too! "[I wanted to say sorry|I missed you|I made one for you], {A}," {B} said.
They [looked at the cards|hugged|read the cards] and laughed. [Both had a <color> star.|They were almost the same.|Both had the same words.]
<playtime>
<lesson> [saying sorry mends a friendship|good friends forgive|it is hard to be angry for long].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} wanted to [touch the moon|catch a star|hold a cloud|find the end of the rainbow].
<oneday> {he} [climbed a <tree>|walked up a hill|stood on the roof], but it was [too far|still too high|not enough].
"[How can I reach it?|It is so far away.]" {A} asked <afriend>. "[A ladder might help|We could build a tower|Let us jump], {A}," said {B}.
They [put boxes on boxes|tied <material> together|jumped from a wall], but [they fell into the hay|everything came down|it was no good].
?<unhappy>
<then> an old owl said, "[Look down|Look into the pond|Not every beautiful thing must be held]."
They looked into the [water|pond|puddle], and there it was, [round and bright|shining like <color> glass|so near].
{A} put {his} hand in the cold water. "[I touched it|It is right here|It tickles], {B}!" {he} [said|laughed|cried].
{B} [splashed|laughed], and the light broke into [a hundred|many] <look> pieces and came back again.
~<happy>
~They sat there [until late|side by side|and ate <fruit>].
<lesson> [some things are lovely from far away|there is more than one way|you have to look in the right place].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} had two {treats}, and {he} was very hungry.
On {his} way to the {spot}, {he} met <afriend>. {B} had [nothing to eat|lost {bhis} lunch|an empty <container>].
"[I am so hungry|Those look good|My tummy is empty], {A}," said {B}.
{A} looked at the {treats}. [{He} wanted both.|They smelled so good.|{He} was hungry, too.] But {B} looked so <sad>.
"Here, {B}. One for you and one for me," {A} said[ <adverb>| at last|].
They sat [on a log|under a <tree>|in the sun] and ate. <yummy>
?<weatherline>
"[I will not forget this|You are so kind|Thank you], {A}," {B} said.
The next day, {A} [fell|hurt {his} foot|dropped {his} <container> in the mud] near the <outside>. <unhappy>
<suddenly> {B} came [running|by]. {B} had a [whole basket|bag|big <container>] of <treats> and [carried {A} home|shared it all with {A}|helped {him} up].
"You helped me, {A}, so now I help you," said {B}.
<happy>
<lesson> [kindness comes back|sharing fills two hearts|when you give, you also get].
<ending2>
""",
    ),
    (
        _KID,
        """
<opening>
{A} got a [new|<look>] {color} {vehicle} from {his} {grown}. {He} was so <glad>.
"[Do not go too fast|Wear your helmet|Stay on the path], {A}," said {his} {grown}.
<oneday> {A} [took|brought] the {vehicle} to the {spot}. <scene>
<afriend> [had never had one|watched {him}|stood by the fence]. "[That is a nice {vehicle}|How fast is it|Can I try it], {A}?" {B} asked.
"[No, it is mine|Maybe later|You might break it]," said {A}, and {he} went [down the hill|around the corner|faster and faster].
[Bump|Crash|Bang]! {A} hit a [stone|<tree>|bench] and fell. {His} knee [hurt|was red], and one wheel was bent.
<unhappy>
{B} ran to {him} with [a clean cloth|some water|a bandage]. "[Does it hurt|Can you stand|Hold my arm], {A}?" {bhe} asked.
{B} was good with tools, and [soon|in a little while] the {vehicle} [worked again|was as good as new].
"I am sorry that I did not share, {B}," said {A}. "[Now it is your turn|Please have a ride|You go first]!"
They [took turns|rode up and down|made a little race track] until [supper|the street lights came on|it was dark].
<lesson> [it is better to share|going too fast is not safe|good friends help even when you were not nice].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
Every night, {A} heard <sound>. "[What is it|Is it a monster|Who is there]?" {he} [wondered|asked {his} {grown}].
<fear>
"[It is only the house|Monsters are not real|Sleep now], {A}," said {his} {grown}. But {A} could not sleep.
<oneday> {he} told <afriend>. "[Let us find out|I will stay with you tonight|We need a lamp], {A}," said {B}.
When it was dark, they [hid|sat] <hidden> with [a lamp|a <color> blanket|some <treats>] and waited.
<suddenly> they heard it again! {B} [jumped|held {A}'s hand|gasped]. {A} [turned on the lamp|pointed the light].
It was [a tiny <critter>|a family of mice|a lost <walkpet>|an old owl]! It [looked at them with big eyes|was eating crumbs|was as scared as they were].
"[Hello, little one|It was you all the time|It is so cute]," said {A}. {B} laughed[ until {bhe} fell over|].
They gave it [a bit of <food>|some <fruit>|a warm bed in a <container>].
After that, {A} liked the sound. It was [the sound of a friend|like a song|a good night song].
<lesson> [things are less scary when you know them|it is good to be curious|the light shows what is really there].
<ending2>
""",
    ),
    (
        _BOTH,
        """
<opening>
{A} was always [too early|late|in a hurry|slow in the morning].
<oneday> there was a [bus|boat|train] to the {spot}, and {A} wanted to go with <afriend>. "[Be on time|Don't be late|We leave at nine], {A}," said {B}.
But {A} [slept too long|could not find {his} <pairwear>|stopped to eat <food>|played with the <pet>].
{He} ran [past the <job>|down the road|over the bridge] with [one shoe|{his} <clothing> inside out|<food> on {his} face].
[The bell rang|The whistle blew|The wheels began to turn]. "Wait! Wait!" {A} [shouted|called].
?<scene>
{B} [looked out|saw {him}] and [asked the driver to stop|pulled the bell|held out {bhis} hand]. {A} jumped in [just in time|at the last moment].
"[That was close|You made it|I was worried], {A}," {B} said. {A} [was out of breath|turned red]. "I am sorry, {B}. [I will get up early|It won't happen again]," {he} said.
They [looked at the fields|counted cows|ate <fruit>] on the way and had a <weather> day at the {spot}.
The next time, {A} [was the first one there|set two clocks|put {his} things by the door].
<lesson> [friends should not have to wait|it is good to be on time].
<ending2>
""",
    ),
]
