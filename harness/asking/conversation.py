"""One attempt: a model is asked, and, where several turns are allowed, told what was found and asked again."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.asking import feedback
from harness.asking.attempt_answer import read_turn, why_unanswered
from harness.asking.attempts import PlannedAttempt
from harness.asking.patience import Patience
from harness.chat import ChatReply, ChatServer, Message
from harness.errors import ChatError, JudgeError, ReplyError
from harness.importing.reply import ReplyImporter, lay_out_reply
from harness.model import Asked, AskSettings, Record, Turn
from harness.sandbox import scratch

Grade = Callable[[Path], Record]
"""Grades the submission in a folder and publishes nothing."""
Notify = Callable[[str], None]
"""Is told what is being done."""
_BAD_REQUEST = 400
_TOO_LONG = (_BAD_REQUEST, 413)
"""Statuses of HTTP with which servers refuse a chat that is longer than a model can read."""


class Questioner:
    """Asks one server; for all attempts of a run.

    Args:
        server: the server.
        patience: when it is asked again.
    """

    def __init__(self, server: ChatServer, patience: Patience) -> None:
        self._server = server
        self._patience = patience
        self._limit = "max_tokens"

    def ask(self, settings: AskSettings, seed: int | None, messages: list[Message]) -> tuple[ChatReply, int]:
        """The reply to a chat, and how many requests it took.

        Raises:
            ChatError: there is none.
            Interrupted: the run ends.
        """
        try:
            return self._patience.reply(lambda: self._request(settings, seed, messages))
        except ChatError as error:
            # newer models of OpenAI take the limit under another name only, and say so
            renamed = "max_completion_tokens"
            if error.status != _BAD_REQUEST or settings.max_tokens is None or renamed not in error.words:
                raise
            if self._limit == renamed:
                raise
            self._limit = renamed
            return self.ask(settings, seed, messages)

    def _request(self, settings: AskSettings, seed: int | None, messages: list[Message]) -> ChatReply:
        sampling: dict[str, Any] = {"temperature": settings.temperature, "seed": seed, self._limit: settings.max_tokens}
        return self._server.complete(settings.model, messages, **sampling)


class Conversation:
    """The turns of one attempt; those of an interrupted run are taken up.

    Args:
        attempt: what is asked for.
        questioner: asks.
        grade: grades the reply of a turn that is not the last.
        notify: is told what is being done.
        prices: of a million tokens of prompts and of replies, where they are stated.
    """

    def __init__(
        self, attempt: PlannedAttempt, questioner: Questioner, grade: Grade, notify: Notify,
        prices: tuple[float | None, float | None] = (None, None),
    ) -> None:  # fmt: skip
        self._attempt = attempt
        self._questioner = questioner
        self._grade = grade
        self._notify = notify
        self.asked = attempt.begun() or Asked(
            challenge=attempt.challenge.id, attempt=attempt.number, began=datetime.datetime.now(datetime.UTC),
            settings=attempt.settings, price_in=prices[0], price_out=prices[1],
        )  # fmt: skip

    def hold(self) -> Asked:
        """All its turns, until no more are allowed or nothing is left to mend.

        Raises:
            ChatError: the server gives no reply.
            JudgeError: a reply cannot be graded, through a fault of ours; the turns so far are kept.
            Interrupted: the run ends; the turns so far are kept.
        """
        allowed = self._attempt.settings.turns
        while self._is_open(allowed):
            self._notify(f"asked, turn {len(self.asked.turns) + 1} of {allowed}" if allowed > 1 else "asked")
            try:
                reply, tries = self._questioner.ask(self._attempt.settings, self._seed, self._messages())
            except ChatError as error:
                if self.asked.turns and error.status in _TOO_LONG:
                    break  # the chat has grown too long for the model: it has no more turns
                raise
            self._add(_turn(reply, tries))
        return self.asked

    def _is_open(self, allowed: int) -> bool:
        """Whether another turn follows; what is told of the last one is found out here."""
        turns = self.asked.turns
        if not turns or len(turns) >= allowed:
            return not turns
        last = turns[-1]
        if last.feedback is None and (told := self._feedback(last)) is not None:
            self.asked = self.asked.model_copy(
                update={"turns": (*turns[:-1], last.model_copy(update={"feedback": told}))}
            )
            self._attempt.keep(self.asked)
        return self.asked.turns[-1].feedback is not None

    def _add(self, turn: Turn) -> None:
        self.asked = self.asked.model_copy(update={"turns": (*self.asked.turns, turn)})
        self._attempt.keep(self.asked)

    def _messages(self) -> list[Message]:
        messages: list[Message] = [{"role": "user", "content": self._attempt.prompt}]
        for turn in self.asked.turns:
            messages.append({"role": "assistant", "content": turn.reply})
            messages.append({"role": "user", "content": turn.feedback or ""})
        return messages

    @property
    def _seed(self) -> int | None:
        seed = self._attempt.settings.seed
        return None if seed is None else seed + self._attempt.number - 1

    def _feedback(self, turn: Turn) -> str | None:
        """What is told of a reply; None where nothing is left to mend."""
        try:
            importer = read_turn(turn, self._attempt.name, self._attempt.challenge)
        except ReplyError as error:
            return feedback.on_unreadable(why_unanswered(turn, error), error.found)
        self._notify("graded between turns")
        record = self._graded(importer)
        if record.error:
            raise JudgeError(f"{self._attempt}: turn {len(self.asked.turns)} could not be graded: {record.error}")
        return feedback.on_grade(record)

    def _graded(self, importer: ReplyImporter) -> Record:
        with scratch.folder() as place:
            folder = place / self._attempt.name / self._attempt.challenge.id
            lay_out_reply(importer, folder)
            return self._grade(folder)


def _turn(reply: ChatReply, tries: int) -> Turn:
    return Turn(
        reply=reply.text, refusal=reply.refusal, finish=reply.finish, model=reply.model, tries=tries,
        prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens, seconds=round(reply.seconds, 3),
    )  # fmt: skip
