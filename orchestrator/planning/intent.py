"""Intent: requests whose verb and object show that no capability serves them, whatever other nouns they hold.

"Explain tensor parallelism", "install CUDA on Ubuntu" and "write a script for 8 GPUs" use the words of the field and
ask for a lesson, an installation and a program. What counts is the verb with which a clause begins, in the languages
that engineers write in, and what follows it. A question for a concept is one only where it is short and points at
nothing of the user's own: "what is a roofline?" asks for a lesson, "what is the roofline of this layer?" for a bound.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

LONGEST_LESSON = 9
"""Words of a question for a concept; whoever says more has a case of his own."""
_REACH = 6
"""Words after a verb among which its object is looked for."""


def _words(text: str, between: str = " ") -> frozenset[str]:
    return frozenset(text.split(between))


def _listed(text: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Words to be equal to, and beginnings, which are marked with a star."""
    words = text.split()
    return frozenset(w for w in words if w[-1] != "*"), tuple(w[:-1] for w in words if w[-1] == "*")


_POLITE = _words(
    "please pls plz hi hey hello ok so and then also now just can could would should will you u we i me to need "
    "want like id help how do does best way easiest right lets is the a an bitte kannst konnen du sie mir uns wie "
    "kann man ich wir mochte comment peux pouvez tu vous je veux puis como puedes puede por favor quiero necesito "
    "preciso quero pode come puoi posso vorrei per favore jak prosze czy mozesz chce bhai mujhe moi me mi nos")
_SETUP = _listed(
    "install* uninstall* reinstall* configure provision deploy upgrade downgrade download serve host migrate "
    "rollback renew reset schedule book buy subscribe rotate backup dockerize containerize logrotate setup ship "
    "einrichten konfigurier* aktualisier* configurer instala* configura* zainstal* skonfigur* zaplanuj zarezerwuj "
    "reservar reserver prenota*")
_SETUP_PAIRS = frozenset({"set up", "roll back", "back up", "sign up", "file a", "file the", "richte ein"})
_WRITE = _listed(
    "write draft code create make build generate design prepare compose add implement give schreib* erstell* ecri* "
    "redige* cree* escrib* crea* haz hazme escrev* cria* scriv* napisz stworz fais")
_WORKS = _listed(
    "script scripts skript function class program programm app application website webseite template vorlage "
    "config configuration dockerfile chatbot pytest email mail letter essay poem post blog slides presentation "
    "docs documentation docstring docstrings readme chart charts diagramm dashboard logo quiz toast speech song "
    "story joke haiku api sql playbook manifest regex alert langchain homepage landing newsletter courriel lettre "
    "correo carta lettera maila")
_WORK_PAIRS = frozenset({"unit tests", "unit test", "tests for", "bar chart"})
_EDIT = _listed(
    "translat* proofread* rephrase reword rename plot resize crop transcrib* export encrypt decrypt password convert "
    "finetune quantize quantise lint refactor remind play ubersetz* tradui* traduz* traduc* przetlumacz* trascriv*")
_EDIT_PAIRS = frozenset({"fine tune", "fine tuning", "fix grammar", "fix typos"})
_LESSON = _listed(
    "explain* teach define introduction intro eli5 erklar* unterschied explique* expliquez explic* spieg* wyjasn* "
    "difference meaning")
_LESSON_PAIRS = _words(
    "what is|what are|what a|what an|what does|what do|whats a|whats an|who is|was ist|was sind|was bedeutet|quest ce|"
    "cest quoi|que es|que son|que significa|o que|che cose|cose un|co to|czym jest|tell about|describe how", "|")
_LESSON_PARTS = _words("pros and|and cons|most popular|minimal example|how many", "|")
_LESSON_ENDS = _words(
    "have has popular mean means work works funktioniert bedeutet fonctionne funciona funziona dziala hai")
_ASKING = _words("what which how wie was comment como come jak que kya")
_HAN = re.compile("^(?:请|帮我|帮忙|给我|怎么|如何)*(?:安装|部署|升级|配置|翻译|写|画|总结)|とは|翻訳"
                  "|^(?:请)?(?:什么是|解释|讲解|介绍)(?!.*[这我该此])")
_POINTS = _listed(
    "this these those my our it its attached here below above file files log logs why happened outage cell each "
    "devicename durationtext formulatext dies* mein* unser* warum ce cet cette ces mon ma mes notre nos pourquoi "
    "est* mis nuestr* esse essa meu minha noss* quest* mio mia nostr* perche ta nasz* moj* dlaczego")
_PLACE = re.compile(r"[a-z]{0,2}\d+[a-z]*$")


def asks_elsewhere(clauses: Iterable[Sequence[str]]) -> bool:
    """Whether one of the clauses, given as folded words, asks for a lesson, an installation, a program or the like."""
    return any(_fits(words) for words in clauses)


def _fits(words: Sequence[str]) -> bool:
    if _HAN.search("".join(words)):
        return True
    start = next((n for n, word in enumerate(words) if word not in _POLITE), len(words))
    rest = words[start:]
    if not rest:
        return False
    first, pair = rest[0], " ".join(rest[:2])
    if _among(first, _SETUP) or pair in _SETUP_PAIRS or _among(first, _EDIT) or pair in _EDIT_PAIRS:
        return True
    if _among(first, _WRITE):
        after = rest[1:_REACH + 1]
        return any(_among(w, _WORKS) for w in after) or not _WORK_PAIRS.isdisjoint(map(" ".join, pairwise(after)))
    if len(words) > LONGEST_LESSON or any(_among(w, _POINTS) or _PLACE.match(w) for w in words):
        return False
    without_articles = [w for w in words if w not in ("me", "moi", "mir", "the")]
    return (_among(first, _LESSON) or " ".join(without_articles[:2]) in _LESSON_PAIRS or pair in _LESSON_PAIRS
            or not _LESSON_PARTS.isdisjoint(map(" ".join, pairwise(words)))
            or (words[-1] in _LESSON_ENDS and not _ASKING.isdisjoint(words)))


def _among(word: str, listed: tuple[frozenset[str], tuple[str, ...]]) -> bool:
    return word in listed[0] or word.startswith(listed[1])
