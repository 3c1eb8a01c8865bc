"""The language that a request is written in, guessed by script and by function words; English where nothing tells.

Engineers mix: the terms stay English and the grammar is their own. Function words ("nicht", "pour", "dla") show the
grammar, so a text with two of one language, or with one and no English ones, counts as that language.
"""

import re
from collections import Counter

from enlist.orchestrator.planning.lexicon import fold

_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")), ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7af]")), ("ru", re.compile("[\u0400-\u04ff]")), ("ar", re.compile("[\u0600-\u06ff]")),
    ("hi", re.compile("[\u0900-\u097f]")), ("el", re.compile("[\u0370-\u03ff]")), ("he", re.compile("[\u0590-\u05ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")))
_FUNCTION_WORDS = {
    "de": "der die das den dem des ein eine einen einem einer und oder nicht ist sind wir ich uns unser unsere unserem "
          "unseren mein meine meinem meinen wie warum wieso welche welcher welches wo wann mit von fur auf aus bei "
          "nach vor uber unter zu zum zur im am ins bitte kannst kann konnen soll sollen muss haben hat wird werden "
          "wurde noch auch nur schon mir mich dass wenn danach sowie gibt was wer kein keine bis mal jetzt es ob",
    "fr": "le la les un une des du de et ou est sont nous je vous notre nos mon ma mes votre comment pourquoi quel "
          "quelle quels quelles avec pour dans sur sans par au aux ce cette ces qui que quoi pas ne puis ensuite "
          "aussi il elle faut peux peut pouvez merci chaque entre leur ont fait",
    "es": "el los las un una unos unas es son nosotros mi mis nuestro nuestra nuestros tu su sus como por que porque "
          "cual cuales con para en sin del al este esta estos estas quien cuando donde no luego tambien hay puedes "
          "puede necesito quiero favor cada entre despues le nos se lo muy mas si",
    "pt": "os as um uma uns umas ou sao nos meu minha meus nosso nossa nossos seu sua como por que porque qual quais "
          "com para em sem do da dos das ao no na nas este esta isso quem quando onde nao depois tambem pode preciso "
          "quero cada entre voce mais muito foi ja",
    "it": "il lo gli un una uno sono noi mio mia miei nostro nostra nostri tuo suo come perche quale quali con per "
          "in senza del della dei delle dello al alla nel nella questo questa questi che chi quando dove non poi "
          "anche puoi serve vorrei ogni tra fra ci si piu dopo sul sulla dal dalla",
    "pl": "lub jest sa my nasz nasza nasze nasi moj moja moje jak dlaczego czemu ktory ktora ktore ktorych ze dla na "
          "we do od po przy bez przez ten ta to te kto kiedy gdzie nie potem takze tez czy mozesz prosze potrzebuje "
          "chce kazdy kazdego miedzy sie oraz jaki jaka jakie zeby",
    "nl": "de het een en of niet is zijn wij ik ons onze mijn hoe waarom welke met van voor uit bij naar om te dat "
          "die wanneer waar ook kun kunt kan moet hebben wordt graag",
    "tr": "bir ve veya bu su icin ile nasil neden hangi ne mi mu daha cok bizim benim var yok kadar gibi",
    "hi": "hai hain ka ki ke ko mein mera meri mere hamara hamare kya kyu kyun kaise kar karo karna kijiye raha rahi "
          "nahi aur batao bata chahiye se wala wale iska uska ye yeh toh bhai",
    "id": "yang dan atau tidak adalah kami saya bagaimana mengapa dengan untuk dari pada ini itu bisa tolong",
    "vi": "cua va la khong cho nhung duoc mot trong voi toi chung nao tai sao",
    "sv": "och att det som en ett inte ar vi jag var hur varfor vilken med for pa av till",
}
_ENGLISH_WORDS = (
    "the of and is are was were it its this that these those my our your we you i he they what which who how when "
    "where why have has had do does did can could would should will with from for by an be been there not but if so "
    "than into all any some each more most just please need want get make give tell me us them their out up about per "
    "as in on or to do no at an die van over help")
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_SETS = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}
FUNCTION_WORDS = frozenset(word for words in _SETS.values() for word in words)
"""Words of many languages that say nothing of what is asked for, folded."""
_WORD = re.compile(r"[^\W\d_]+")


def language(text: str) -> str:
    """An ISO 639-1 code; `en` where nothing speaks for another language."""
    for code, script in _SCRIPTS:
        if len(script.findall(text)) >= 2:
            return code
    words = [w for w in _WORD.findall(fold(text)) if len(w) > 1]
    counts = Counter({code: len({w for w in words if w in known and w not in _ENGLISH})
                      for code, known in _SETS.items()})
    code, most = max(sorted(counts.items()), key=lambda item: item[1])
    english = len({w for w in words if w in _ENGLISH})
    return code if most > english or (most and not english) or (most > 1 and most == english) else "en"
