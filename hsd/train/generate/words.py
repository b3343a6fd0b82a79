# ruff: noqa: E501 (a pool is kept as one list)
"""Names and word pools for the stories: each pool holds words that fit the same place in a sentence."""

from __future__ import annotations

GIRLS = [
    "Lily",
    "Mia",
    "Sara",
    "Anna",
    "Lucy",
    "Emma",
    "Amy",
    "Sue",
    "Jane",
    "Molly",
    "Ella",
    "Kate",
    "Zoe",
    "Rosie",
    "Nina",
    "Bella",
    "Ruby",
    "Daisy",
    "Mary",
    "Grace",
    "Ivy",
    "Lola",
]
BOYS = (
    ("Tim Ben Tom Max Jack Sam Bob Leo Finn Billy Joe Spot Dan Nick Peter Toby Jake Luke Adam Fred Theo Oscar")
    .replace("Spot ", "Henry ")
    .split()
)
PET_GIRLS = ["Coco", "Luna", "Fifi", "Pippa", "Dotty", "Hazel", "Nutmeg", "Penny", "Tilly", "Sandy", "Pearl", "Minty"]
PET_BOYS = ["Benny", "Rex", "Bruno", "Hoppy", "Fluffy", "Ollie", "Fuzzy", "Buster", "Teddy", "Gus", "Pepper", "Ziggy"]


def _pool(text: str) -> list[str]:
    return [word.strip() for word in text.replace("\n", " ").split(",") if word.strip()]


WORDS: dict[str, list[str]] = {
    "animal": _pool("""camel, giraffe, kangaroo, seal, whale, parrot, chipmunk, gopher, goose, swan, cub, gorilla, ostrich, yak, rabbit, squirrel, mouse, fox, bear, deer, hedgehog, kitten, puppy, frog, turtle, pig, lamb,
        goat, pony, monkey, panda, otter, raccoon, badger, beaver, duck, chick, penguin, elephant, lion, tiger,
        zebra, koala, mole, owl, hamster, donkey, calf, skunk"""),
    "critter": _pool("""lamb, goose, moth, firefly, gecko, crab, newt, cricket, mole, rat, kitten, swan, magpie, hare, frog, squirrel, duck, lizard, snail, ladybug, butterfly, robin, crow, hen, mouse, bunny, bee,
        beetle, turtle, sparrow, dragonfly, caterpillar, toad, chipmunk, pigeon, grasshopper, worm, ant, owl"""),
    "bird": _pool("robin, sparrow, crow, owl, duckling, bluebird, pigeon, parrot, swan, dove, woodpecker, chick, wren"),
    "pet": _pool("puppy, kitten, dog, cat, hamster, bunny, parrot, goldfish, turtle, guinea pig, pony, duckling"),
    "walkpet": _pool("puppy, kitten, dog, cat, bunny, pony, duckling, lamb, goat, piglet"),
    "toy": _pool("""toy castle, sailboat, toy bus, model ship, tea set, toy crown, paper plane, toy horse, balloon, toy fire truck, stuffed bear, kaleidoscope, toy sword, ball, doll, kite, toy car, toy train, teddy bear, toy boat, robot, yo-yo, puppet, spinning top,
        drum, toy truck, toy plane, stuffed bunny, wooden horse, rubber duck, music box, toy tractor, jump rope,
        hula hoop, toy rocket, marble, whistle, toy dinosaur, wagon, scooter, puzzle, rag doll, bouncy ball"""),
    "small": _pool("""penny, thimble, clip, pin, medal, nut, cork, pearl, cookie cutter, seashell, snail shell, toy soldier, photo, old ticket, candle, fork, brush, key, coin, shell, button, ring, feather, marble, pebble, ribbon, bell, acorn, pine cone, crayon,
        bead, star sticker, stamp, whistle, badge, bracelet, pencil, glass jewel, spoon, lucky stone, tiny box"""),
    "clothing": _pool("hat, scarf, coat, sweater, jacket, cap, shirt, hood, cape, raincoat, vest, bow tie"),
    "pairwear": _pool("shoes, boots, mittens, socks, slippers, gloves, sandals, glasses, pajamas"),
    "fruit": _pool(
        "lemons, mangoes, raisins, melons, strawberries, chestnuts, pumpkins, cucumbers, tomatoes, radishes, blueberries, apples, pears, plums, berries, cherries, oranges, bananas, peaches, grapes, nuts, carrots, figs"
    ),
    "onefruit": _pool("apple, pear, plum, orange, banana, peach, carrot, lemon, melon, mango, tomato"),
    "food": _pool("""pie, chili, oatmeal, sausages, mushrooms, peas, sandwiches, fish, chicken, pudding, dumplings, tacos, biscuits, rolls, jelly, soup, bread, rice, pasta, cheese, pizza, toast, pancakes, noodles, jam, honey, salad, porridge,
        eggs, corn, potatoes, beans, stew, waffles, cereal, yogurt, popcorn, muffins, crackers"""),
    "treat": _pool("""cinnamon roll, fruit bar, pretzel, caramel apple, gumdrop, snow cone, chocolate, scone, eclair, macaroon, cookie, cupcake, muffin, lollipop, pie, cake, ice cream, candy bar, sandwich, donut, jelly bean,
        pancake, sweet roll, brownie, popsicle, waffle, tart"""),
    "treats": _pool("cookies, cupcakes, muffins, lollipops, sweets, candies, sandwiches, donuts, brownies, tarts"),
    "drink": _pool("milk, juice, lemonade, hot cocoa, water, warm tea, apple juice, orange juice, a milkshake"),
    "color": _pool("""red, blue, green, yellow, pink, purple, orange, white, brown, silver, golden, black, gray"""),
    "look": _pool("""crooked, heavy, wooden, gleaming, smooth, muddy, cute, fancy, ragged, speckled, glowing, simple, sturdy, thin, broken, shiny, soft, old, new, tiny, round, pretty, bright, striped, smooth, small, big, fluffy, spotted,
        strange, lovely, dusty, special, sparkly, funny, plain, neat"""),
    "sight": _pool("quiet, small, green, old, pretty, lovely, busy, big, sunny, shady, windy, cozy, wide, sleepy"),
    "praise": _pool("kind, clever, brave, nice, helpful, gentle, smart, strong, good, sweet"),
    "nice": _pool("""calm, generous, patient, loyal, jolly, funny, bold, caring, dreamy, eager, fair, lucky, tender, bright, sensible, kind, happy, brave, clever, gentle, cheerful, friendly, curious, playful, polite, quiet, careful,
        helpful, smart, sweet, lively, thoughtful, honest, silly, funny, hopeful"""),
    "flaw": _pool(
        "rude, sleepy, picky, selfish, restless, sloppy, moody, nosy, stubborn, vain, shy, lazy, messy, grumpy, stubborn, impatient, careless, greedy, bossy, clumsy, forgetful, noisy"
    ),
    "glad": _pool("""happy, glad, proud, excited, joyful, cheerful, thankful, relieved, delighted, pleased, calm,
        cheery, merry, hopeful, grateful, content, overjoyed"""),
    "sad": _pool(
        "sad, upset, unhappy, gloomy, worried, sorry, hurt, lonely, disappointed, heartbroken, miserable, blue"
    ),
    "scared": _pool("scared, afraid, nervous, frightened, worried, unsure, startled, anxious, uneasy"),
    "cross": _pool("angry, mad, cross, grumpy, annoyed, upset, jealous, furious"),
    "size": _pool("little, small, tiny, young, wee"),
    "big": _pool("big, huge, tall, large, giant, great, enormous, mighty"),
    "weather": _pool("""stormy, misty, mild, golden, frosty, damp, clear, icy, crisp, sunny, windy, cold, warm, rainy, cloudy, bright, snowy, foggy, quiet, hot, breezy, chilly, lovely,
        fine, gray"""),
    "part": _pool("day, morning, afternoon, evening, Saturday, Sunday, spring day, summer day, autumn day, Monday"),
    "span": _pool("day, morning, afternoon, evening, week, summer"),
    "flower": _pool("rose, daisy, tulip, sunflower, lily pad, violet, poppy, bluebell, dandelion"),
    "flowers": _pool(
        "lilies, pansies, marigolds, snowdrops, buttercups, irises, orchids, roses, daisies, tulips, sunflowers, violets, poppies, bluebells, dandelions, wild flowers"
    ),
    "plant": _pool("seed, bean, bulb, sunflower seed, pumpkin seed, apple seed, little tree, rose bush, tomato plant"),
    "tree": _pool("oak tree, apple tree, pine tree, old tree, willow, maple tree, cherry tree, palm tree, tall tree"),
    "room": _pool(
        "pantry, study, dining room, laundry room, cellar, guest room, kitchen, bedroom, attic, basement, garage, bathroom, hallway, playroom, living room, closet"
    ),
    "spot_kid": _pool("""park, garden, beach, playground, farm, yard, library, market, pond, river, zoo, woods, meadow,
        school, hill, lake, museum, street, fair, field"""),
    "spot_animal": _pool("""forest, meadow, pond, river, hill, farm, woods, lake, field, valley, garden, jungle, barn,
        beach, cave, orchard, stream, old bridge, swamp, clearing"""),
    "outside": _pool("garden, park, yard, field, meadow, woods, forest, hill, pond, river, lake, farm, orchard"),
    "land": _pool("garden, yard, field, meadow, flower bed, orchard, back yard, vegetable garden"),
    "hidden": _pool("""under the [bed|bench|table|stairs|bush|log|blanket|porch|leaves], behind the [door|shed|couch|tree|
        curtain|fence|barn|rock], inside [an old shoe|a big box|a basket|a hollow log|a bucket|the toy chest|a flower pot],
        next to the [gate|pond|mailbox|well|swing|path], in the tall grass, on top of the [shelf|wall|roof|haystack],
        between two [rocks|books|pillows|bushes]"""),
    "game": _pool("""charades, red light green light, musical chairs, treasure hunt, pirates and sailors, ball, checkers, cowboys, store, dominoes, dress up, hide and seek, tag, catch, pirates, jump rope, hopscotch, soccer, leapfrog, house, a guessing game,
        knights and dragons, a racing game, space explorers, marbles"""),
    "instrument": _pool("drum, flute, piano, guitar, violin, horn, trumpet, bell, tambourine, harp, whistle"),
    "vehicle": _pool("bike, scooter, wagon, sled, toy car, skateboard, tricycle, little boat, kayak, go-kart"),
    "build": _pool("""wagon, ladder, pirate ship, mud house, toy train track, rocket, puppet stage, scarecrow, tunnel, kennel, bench, windmill, maze, treehouse, sandcastle, bird house, fort, tower, bridge, snowman, raft, tent, go-kart, robot, kite,
        little boat, block castle, swing, nest, dog house, garden bench"""),
    "material": _pool("sticks, stones, sand, wood, paper, string, blocks, boxes, leaves, mud, tape, glue, rope, cloth"),
    "skill": _pool("""[swim|dive|float], ride a bike, whistle, skate, read, tie {his} shoes, climb, sing, dance, jump rope,
        draw [horses|stars|boats|a cat], paint, do a cartwheel, count to [ten|twenty|one hundred], juggle, play the <instrument>,
        bake bread, spell {his} name, catch a ball, tell the time, row a boat, stand on {his} head"""),
    "dream": _pool("""a pilot, a doctor, a singer, a dancer, a cook, a painter, a teacher, a sailor, a firefighter, a baker,
        a farmer, an explorer, a king, a clown, a writer, a builder, an astronaut, a vet"""),
    "job": _pool("""singer, postman, dentist, carpenter, florist, pilot, captain, waiter, miller, shepherd, cobbler, butcher, magician, juggler, lifeguard, janitor, plumber, baker, farmer, teacher, doctor, mailman, gardener, firefighter, shopkeeper, painter, fisherman,
        librarian, bus driver, cook, policeman, builder, nurse, tailor, zookeeper, clown, sailor"""),
    "sound": _pool("""a chirp, a rattle, a scratching noise, a hoot, a loud sneeze, a clang, a whisper, a rumble, a snore, a click, a pop, a howl in the distance, a loud bang, a soft cry, a strange hum, a tiny squeak, a low growl, a splash, a tap at the window, a crash,
        a long whistle, a buzz, a thump, a sad meow, a rustle in the leaves, a quiet song, a funny giggle"""),
    "container": _pool("box, bag, jar, basket, chest, bucket, tin, envelope, suitcase, backpack, barrel"),
    "gift": _pool("""[|<color> ][book|drum|scarf|puzzle|kite|hat|lamp|clock|drawing|card|basket of <fruit>|bunch of <flowers>|jar of [jam|honey]|
        paint set|warm blanket|silver whistle|box of <treats>]"""),
    "chore": _pool("""wash the dishes, sweep the floor, feed the [hens|cat|fish|dog], clean {his} room, pick up the toys,
        water the <flowers>, fold the [towels|clothes|socks], rake the leaves, set the table, carry the bags, dust the shelves,
        bake [bread|cookies], pull the weeds, stack the wood, wash the [car|windows|dog]"""),
    "handle": _pool("slowly, carefully, quietly, closely, nervously, softly, bravely, with care"),
    "adverb": _pool("""slowly, quickly, softly, loudly, quietly, carefully, gently, happily, proudly, bravely, eagerly, kindly,
        politely, patiently"""),
    "ran": _pool("ran, walked, hurried, skipped, rushed, raced, marched, tiptoed, wandered, went, hopped, dashed"),
}

_IRREGULAR = {"mouse": "mice", "deer": "deer", "calf": "calves"}


def plural(noun: str) -> str:
    """Return the plural of a noun of the pools: "pony" → "ponies"."""
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("x", "ch", "sh", "s")) else "s")


for _noun in ("animal", "critter", "onefruit"):
    WORDS[_noun + "s"] = [plural(word) for word in WORDS[_noun]]
