"""What contract-lint knows about words: one table for each of its rules, all in English."""

# suggestion, may a number beside the word cure it, phrases
VAGUE = (
    (
        "Say how fast or how slow, in a unit that a clock shows.",
        True,
        "fast, quick, quickly, rapid, rapidly, slow, slowly, soon, real-time, performant, low latency, "
        "high performance",
    ),
    (
        "Say how many, or list them.",
        True,
        "some, several, many, few, a few, various, numerous, a number of, a lot of, lots of, multiple times, "
        "plenty of, a couple of, most of, a variety of",
    ),
    (
        "Say what is measured, and the value that is good enough.",
        True,
        "robust, robustly, optimal, optimally, optimized, efficient, efficiently, scalable, flexible, reliable, "
        "reliably, adequate, adequately, sufficient, sufficiently, reasonable, reasonably, suitable, suitably, "
        "minimal, high quality, high-quality, good quality, significant, significantly, substantial, "
        "substantially, better, improved, powerful, lightweight, large amounts of",
    ),
    (
        "Describe what a user does and what they then see.",
        True,
        "user-friendly, user friendly, easy, easily, easy to use, intuitive, intuitively, seamless, seamlessly, "
        "smooth, smoothly, nice, nicely, convenient, conveniently, elegant, modern, pleasant, simple to use",
    ),
    (
        "Say what happens, so that a check can see it.",
        True,
        "properly, correctly, appropriately, appropriate, gracefully, graceful, should work, works well, work "
        "well, works fine, works correctly, work correctly, works properly, work properly, works as expected, "
        "work as expected, as expected, as intended, as usual, as designed",
    ),
    (
        "List every case; a reader cannot check an open list.",
        False,
        "etc, and so on, and so forth, and the like, and more, and others, among others, or similar, or "
        "something, including but not limited to, and similar",
    ),
    (
        "Say when it applies and when it does not, or leave it out.",
        False,
        "as appropriate, where appropriate, when appropriate, if appropriate, if possible, where possible, when "
        "possible, as possible, as needed, if needed, when needed, where needed, as necessary, if necessary, when "
        "necessary, where necessary, as required, if applicable, where applicable, if desired, if feasible, where "
        "feasible, best effort, best-effort, ideally, preferably, optionally",
    ),
    (
        "Say always, never, or exactly when.",
        False,
        "usually, normally, typically, generally, often, sometimes, occasionally, rarely, mostly, largely, "
        "probably, maybe, perhaps, hopefully, eventually, at some point, in the future, asap, from time to time, "
        "more or less",
    ),
)

# suggestion, phrases
FILLER = (
    (
        "Leave it out; the sentence says the same without it.",
        "it is important to note that, it's important to note that, it is worth noting that, it should be noted "
        "that, please note that, note that, needless to say, as a matter of fact, at the end of the day, "
        "basically, essentially, actually, really, very, simply, obviously, clearly, of course, in fact, that "
        "being said, as we all know, it goes without saying that, for all intents and purposes, when it comes to, "
        "going forward, moving forward, in terms of, as such, in today's world, last but not least, first and "
        "foremost",
    ),
    ("Write: to.", "in order to, so as to, with the aim of, for the purpose of"),
    ("Write: because.", "due to the fact that, owing to the fact that, in light of the fact that"),
    ("Write: if.", "in the event that, in case that"),
    ("Write: now.", "at this point in time, at the present time"),
    ("Write: can.", "has the ability to, have the ability to, is able to, are able to"),
    (
        "Write: use.",
        "leverage, leverages, leveraging, leveraged, utilize, utilizes, utilizing, utilise, utilization",
    ),
    (
        "Say what it does that others do not, or leave it out.",
        "world-class, world class, best-in-class, best in class, cutting-edge, cutting edge, state-of-the-art, "
        "state of the art, next-generation, next generation, game-changing, game changer, industry-leading, "
        "revolutionary, synergy, synergies, holistic, holistically, paradigm, turnkey, bleeding-edge, "
        "enterprise-grade, production-grade, best-of-breed, delightful, blazing, blazingly, rich experience",
    ),
    (
        "Say what changes.",
        "streamline, streamlines, streamlined, empower, empowers, unlock the power of, delve into",
    ),
)

PLACEHOLDER = (
    "tbd, tba, tbc, todo, fixme, xxx, to be determined, to be decided, to be defined, to be confirmed, to be "
    "specified, to be discussed, to be clarified, lorem ipsum"
)
SHOUTED = {
    "todo",
    "tba",
    "tbc",
    "xxx",
    "fixme",
}  # a placeholder only in capitals: a todo list is a thing

# A heading or label that has one of these words in a row opens a section of criteria.
CRITERIA = (
    "acceptance criteria, acceptance criterion, acceptance tests, acceptance checks, acceptance conditions, "
    "criteria for acceptance, done when, done if, done criteria, definition of done, what must be true, must be "
    "true, must all be true, what must hold, success criteria, exit criteria, completion criteria, conditions of "
    "satisfaction, how we will know"
)
CRITERIA_ALONE = {"acceptance", "criteria", "dod", "ac"}  # these only when they are the whole title

# What somebody can see happen. Each also counts with -s, -es, -d, -ed; the bare form only at the start of a criterion
# or after a word such as "must", because many of these are nouns too.
VERBS = (
    "abort accept add answer appear append ask assert block build call cancel close commit compile contain copy "
    "count crash create delete deny differ disable disappear display download drop emit enable encode end equal "
    "exceed exclude execute exist exit expire export fail fetch filter find finish generate grant hide ignore "
    "import include increment insert install invoke keep leave link list load lock log match merge migrate move "
    "name notify omit open overwrite parse pass persist print produce prompt publish raise receive record "
    "redirect refuse reject release remain remove rename render replace report reset resolve respond restart "
    "restore retry return revert reveal rotate run save say scroll select send show skip sort start stay stop "
    "store submit succeed terminate throw toggle trigger truncate unlock update upload validate wait warn write"
)
FORMS = (
    "built copied copies committed denied denies dropped emitted found hidden kept left logged omitted read "
    "replied replies retried retries said sent shown shut skipped stopped stored submitted thrown verified "
    "verifies written wrote stops"
)
BEFORE_BARE_VERB = (
    "must shall will would can cannot may does do did not never to should always then"
)
STATES = (
    "absent alphabetical ascending case-insensitive case-sensitive chronological descending disabled empty "
    "enabled equal false green greater hidden identical less none nothing null present red same true unchanged "
    "unique visible zero two three four five six seven eight nine ten twice"
)
