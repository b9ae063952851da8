"""Parts of speech: a hidden Markov model tags the words of sentences, and a test says whether the order of words helps.

The states are the parts of speech, the symbols are the words. Both tables, transitions and emissions, are counted from
tagged sentences; Viterbi's path tags new ones. A word that was never seen is given as missing: the chain alone decides.
"""

import numpy as np

from assay.evaluate import mcnemar_from_counts
from assay.models.sequences import HiddenMarkovModel

TAGS = {"d": "determiner", "n": "noun", "v": "verb", "a": "adjective", "r": "pronoun", "p": "preposition"}
# Many words can be two things here, as in English: fine, light, water, watch, walk, cook, paint, play, answer, run.
CORPUS = """
i/r am/v fine/a
the/d water/n is/v fine/a
we/r pay/v the/d fine/n
they/r fine/v the/d driver/n
the/d fine/n is/v high/a
she/r is/v fine/a
a/d fine/a day/n
the/d judge/n can/v fine/v a/d driver/n
he/r paid/v a/d high/a fine/n
the/d light/n is/v green/a
we/r light/v the/d fire/n
a/d light/a coat/n
the/d coat/n is/v light/a
they/r light/v a/d lamp/n in/p the/d house/n
the/d lamp/n gives/v light/n
she/r saw/v a/d green/a light/n
we/r water/v the/d garden/n
the/d garden/n needs/v water/n
they/r water/v the/d old/a tree/n
he/r drinks/v cold/a water/n
a/d watch/n is/v on/p the/d table/n
i/r watch/v the/d old/a house/n
we/r watch/v a/d play/n
she/r has/v a/d green/a watch/n
the/d children/n play/v in/p the/d garden/n
they/r play/v with/p a/d dog/n
the/d play/n is/v long/a
he/r wrote/v a/d long/a play/n
we/r walk/v in/p the/d park/n
a/d walk/n in/p the/d park/n is/v long/a
they/r walk/v with/p the/d dog/n
she/r needs/v a/d walk/n
the/d cook/n is/v old/a
we/r cook/v with/p cold/a water/n
they/r cook/v a/d fish/n
the/d cook/n has/v a/d knife/n
i/r paint/v the/d house/n
the/d paint/n is/v green/a
we/r paint/v a/d door/n with/p a/d brush/n
she/r needs/v paint/n
the/d answer/n is/v long/a
i/r answer/v the/d old/a judge/n
they/r answer/v with/p a/d letter/n
he/r wrote/v an/d answer/n
the/d dogs/n run/v in/p the/d park/n
a/d run/n is/v long/a
we/r run/v with/p the/d children/n
he/r needs/v a/d run/n
"""

sentences = [[pair.split("/") for pair in line.split()] for line in CORPUS.strip().splitlines()]
words = [[word for word, _ in sentence] for sentence in sentences]
codes = {tag: k for k, tag in enumerate(TAGS)}
tags = [[codes[tag] for _, tag in sentence] for sentence in sentences]


def counted(chosen):
    """A tagger whose tables are counted from the chosen sentences, with a little added to every count."""
    model = HiddenMarkovModel(
        len(TAGS), emission="categorical", max_iter=0, start_prior=0.1, transition_prior=0.1, emission_prior=0.01
    )
    return model.fit([words[k] for k in chosen], states=[tags[k] for k in chosen])


def known(model, sentence):
    """The sentence with words that the model never saw as missing."""
    return [word if word in set(model.categories_) else None for word in sentence]


tagger = counted(range(len(sentences)))
print("P(next part | part), counted:")
print(" " * 12 + " ".join(f"{name[:6]:>6}" for name in TAGS.values()))
for name, row in zip(TAGS.values(), tagger.transitions_):
    print(f"{name:12}" + " ".join(f"{share:6.2f}" for share in row))

for text in ("they fine the cook", "the light is fine", "we watch the old cook with a zebra"):
    path = tagger.decode([known(tagger, text.split())])[1]
    print(text, "->", " ".join(list(TAGS.values())[k] for k in path))

# What is known when: while the sentence is heard, and when it has been heard.
heard = [known(tagger, ["a", "light", "coat"])]
now, later = tagger.filter(heard)[1], tagger.smooth(heard)[1]
sure = f"{now[codes['a']]:.2f} when heard, {later[codes['a']]:.2f} with what follows"
print(f"light in 'a light coat' is an adjective: {sure}")
following = tagger.predict([known(tagger, ["we", "paint", "the"])])[0]
print("after 'we paint the' comes a", list(TAGS.values())[int(following.argmax())], f"({following.max():.2f})")

# Does the order help? Each sentence is tagged by a model of the others, by the chain and by each word's commonest tag.
right = {"chain": [], "word by word": []}
n_words = 0
for left_out in range(len(sentences)):
    others = [k for k in range(len(sentences)) if k != left_out]
    model = counted(others)
    counts = {}
    for k in others:
        for word, tag in zip(words[k], tags[k]):
            counts.setdefault(word, np.zeros(len(TAGS)))[tag] += 1
    everywhere = sum(counts.values())
    found = {
        "chain": model.decode([known(model, words[left_out])])[1],
        "word by word": [int(counts.get(word, everywhere).argmax()) for word in words[left_out]],
    }
    for name, path in found.items():
        right[name].append(np.mean(np.equal(path, tags[left_out])))
    n_words += len(words[left_out])
lengths = [len(sentence) for sentence in words]
for name, shares in right.items():
    print(f"{name}: {np.average(shares, weights=lengths):.3f} of {n_words} words that were left out are right")
# Words of a sentence hang together, so sentences are what is counted: those with every word right.
whole = {name: np.array(shares) == 1.0 for name, shares in right.items()}
only_chain_wrong = int(np.sum(~whole["chain"] & whole["word by word"]))
only_words_wrong = int(np.sum(whole["chain"] & ~whole["word by word"]))
print(mcnemar_from_counts(only_chain_wrong, only_words_wrong, len(sentences), names=tuple(whole)).sentence)
