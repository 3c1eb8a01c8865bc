"""Text into a program: a hand-written recursive descent, one token ahead, whose errors name line and column.

The grammar is in docs/loop-ir.md.
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest
from enlist.tools.solar.loops.program import (
    COMPARISONS,
    DTYPES,
    FUNCTIONS,
    Access,
    Assign,
    Declared,
    Expr,
    For,
    If,
    Name,
    Num,
    Op,
    Program,
    Role,
    Size,
    Statement,
)

_TOKEN = re.compile(r"(?P<space>[ \t\r]+|\#[^\n]*)|(?P<line>\n)|(?P<word>[A-Za-z_]\w*)|"
                    r"(?P<number>\d+(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?)|"
                    r"(?P<sign>\.\.|//|\+=|\*=|<=|>=|==|!=|[-+*/%<>=()\[\]{},:|])")
_WORDS = frozenset(("program", "size", "input", "output", "temp", "for", "in", "step", "if", "and", "or", "not", "inf",
                    *FUNCTIONS))
_ROLES: tuple[Role, ...] = ("input", "output", "temp")
_DEEPEST = 60  # brackets and loops inside each other; keeps hostile text within Python's own stack
_DIGITS = 18
_LARGEST = 4 << 20


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    line: int
    column: int


def parse(text: str, name: str = "program") -> Program:
    """The program that `text` is; `name` is the file, for messages. Raises `bad_input` with line and column."""
    if len(text) > _LARGEST:
        raise EnlistError("bad_input", f"{name} is too long for a program", given=f"{len(text)} characters",
                          allowed=f"{_LARGEST} characters", fix="give the loops alone")
    return _Parser(_tokens(text, name), name).program()


def _tokens(text: str, name: str) -> list[_Token]:
    found, at, line, start = [], 0, 1, 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _fault(name, line, at - start + 1, f"unexpected character {text[at]!r}", "see docs/loop-ir.md")
        if match.lastgroup == "line":
            line, start = line + 1, match.end()
        elif match.lastgroup != "space":
            found.append(_Token(str(match.lastgroup), match[0], line, at - start + 1))
        at = match.end()
    return [*found, _Token("end", "end of file", line, at - start + 1)]


def _fault(name: str, line: int, column: int, what: str, allowed: str) -> EnlistError:
    return EnlistError("bad_input", f"{name}, line {line}, column {column}: {what}", allowed=allowed,
                       fix="mend that line; the grammar is in docs/loop-ir.md")


class _Parser:
    def __init__(self, tokens: list[_Token], name: str) -> None:
        self.tokens, self.at, self.name, self.depth = tokens, 0, name, 0

    @property
    def now(self) -> _Token:
        return self.tokens[self.at]

    def fail(self, what: str, allowed: str) -> NoReturn:
        raise _fault(self.name, self.now.line, self.now.column, what, allowed)

    def take(self, text: str) -> bool:
        if self.now.text == text and self.now.kind != "end":
            self.at += 1
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            self.fail(f"{self.now.text!r} where {text!r} is due", repr(text))

    def word(self, what: str) -> str:
        token = self.now
        if token.kind != "word" or token.text in _WORDS:
            self.fail(f"{token.text!r} is no {what}", f"a {what}: letters, digits and _, not one of the words of the "
                                                      "language")
        self.at += 1
        return token.text

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail("too deeply nested", f"{_DEEPEST} levels of brackets and loops")

    def program(self) -> Program:
        self.need("program")
        title = self.word("name")
        sizes: list[Size] = []
        tensors: list[Declared] = []
        while self.now.text in ("size", *_ROLES):
            if self.take("size"):
                sizes.append(self.size())
                while self.take(","):
                    sizes.append(self.size())
            else:
                role = next(r for r in _ROLES if r == self.now.text)
                self.at += 1
                tensors.append(self.declared(role))
                while self.take(","):
                    tensors.append(self.declared(role))
        body = []
        while self.now.kind != "end":
            body.append(self.statement())
        return Program(title, tuple(sizes), tuple(tensors), tuple(body))

    def size(self) -> Size:
        name = self.word("name")
        self.need("=")
        return Size(name, self.expr())

    def declared(self, role: Role) -> Declared:
        name = self.word("name")
        self.need(":")
        dtype = self.now.text
        if dtype not in DTYPES:
            close = nearest(dtype, DTYPES)
            self.fail(f"{dtype!r} is no dtype" + (f"; did you mean {close[0]}?" if close else ""), ", ".join(DTYPES))
        self.at += 1
        return Declared(role, name, dtype, self.indices())

    def indices(self) -> tuple[Expr, ...]:
        self.need("[")
        found: list[Expr] = []
        while not self.take("]"):
            if found:
                self.need(",")
            found.append(self.expr())
        return tuple(found)

    def block(self) -> tuple[Statement, ...]:
        self.need("{")
        self.deeper()
        body = []
        while not self.take("}"):
            body.append(self.statement())
        self.depth -= 1
        return tuple(body)

    def statement(self) -> Statement:
        if self.take("for"):
            var = self.word("loop variable")
            self.need("in")
            lower = self.sum()
            self.need("..")
            upper = self.sum()
            return For(var, lower, upper, self.step(), self.block())
        if self.take("if"):
            return If(self.expr(), self.block())
        line = self.now.line
        name = self.word("statement")
        if self.now.text != "[":
            self.fail(f"{self.now.text!r} after {name}", "'[' and indices; a scalar is written `name[]`")
        target = Access(name, self.indices())
        if self.now.text in ("max", "min"):
            update = self.now.text + "="
            self.at += 1
            self.need("=")
        else:
            update = self.now.text
            if update not in ("=", "+=", "*="):
                self.fail(f"{update!r} is no assignment", "=  +=  *=  max=  min=")
            self.at += 1
        return Assign(target, update, self.expr(), line)  # type: ignore[arg-type]

    def step(self) -> int:
        if not self.take("step"):
            return 1
        sign = -1 if self.take("-") else 1
        if not self.now.text.isdigit() or not self.now.text.strip("0"):
            self.fail("a step is a whole number and not 0", "a constant")
        return sign * int(self.number())

    def number(self) -> int | float:
        text = self.now.text
        if self.now.kind != "number" or (len(text) > _DIGITS and text.isdigit()):
            self.fail(f"{text[:40]!r} is no number", f"a number of at most {_DIGITS} digits")
        self.at += 1
        return int(text) if text.isdigit() else float(text)

    def expr(self) -> Expr:
        self.deeper()
        left = self.conjunction()
        while self.take("or"):
            left = Op("or", (left, self.conjunction()))
        self.depth -= 1
        return left

    def conjunction(self) -> Expr:
        left = self.inverted()
        while self.take("and"):
            left = Op("and", (left, self.inverted()))
        return left

    def inverted(self) -> Expr:
        if self.take("not"):
            self.deeper()
            inner = self.inverted()
            self.depth -= 1
            return Op("not", (inner,))
        left = self.sum()
        if self.now.text in COMPARISONS:
            sign = self.now.text
            self.at += 1
            return Op(sign, (left, self.sum()))
        return left

    def sum(self) -> Expr:
        left = self.product()
        while self.now.text in ("+", "-"):
            sign = self.now.text
            self.at += 1
            left = Op(sign, (left, self.product()))
        return left

    def product(self) -> Expr:
        left = self.unary()
        while self.now.text in ("*", "/", "//", "%"):
            sign = self.now.text
            self.at += 1
            left = Op(sign, (left, self.unary()))
        return left

    def unary(self) -> Expr:
        if not self.take("-"):
            return self.atom()
        self.deeper()
        inner = self.unary()
        self.depth -= 1
        return Op("neg", (inner,))

    def atom(self) -> Expr:
        token = self.now
        if token.kind == "number":
            return Num(self.number())
        if self.take("inf"):
            return Num(float("inf"))
        if self.take("("):
            inner = self.expr()
            self.need(")")
            return inner
        if self.take("|"):
            inner = self.sum()
            self.need("|")
            return Op("abs", (inner,))
        if token.text in FUNCTIONS:
            return self.call()
        if token.kind == "word" and self.tokens[self.at + 1].text == "(":
            close = nearest(token.text, FUNCTIONS)
            self.fail(f"no function {token.text!r}" + (f"; did you mean {close[0]}?" if close else ""),
                      ", ".join(FUNCTIONS))
        name = self.word("value")
        return Access(name, self.indices()) if self.now.text == "[" else Name(name)

    def call(self) -> Expr:
        name = self.now.text
        self.at += 1
        self.need("(")
        args = [self.expr()]
        while self.take(","):
            args.append(self.expr())
        if len(args) != FUNCTIONS[name] and not (name in ("min", "max") and len(args) > 2):
            self.fail(f"{name} takes {FUNCTIONS[name]} arguments, not {len(args)}", f"{name} with {FUNCTIONS[name]}")
        self.need(")")
        return Op(name, tuple(args))
