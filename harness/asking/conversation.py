"""One attempt, with feedback between turns."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.asking import feedback
from harness.asking.attempt_answer import explain_missing_answer, read_turn
from harness.asking.attempts import PlannedAttempt
from harness.asking.patience import Patience
from harness.chat import ChatReply, ChatServer, Message
from harness.errors import ChatError, JudgeError, ReplyError
from harness.importing.reply import ReplyImporter, lay_out_reply
from harness.model import Asked, AskSettings, Record, Turn
from harness.sandbox.confinement import scratch

Grade = Callable[[Path], Record]
"""Grades the submission in a folder without publishing the record."""
Notify = Callable[[str], None]
"""Receives a word on what is being done."""
_BAD_REQUEST = 400
_TOO_LONG = (_BAD_REQUEST, 413)
"""HTTP statuses with which servers refuse a chat beyond the model's context."""


class Questioner:
    """Sends all chats of a run to one server."""

    def __init__(self, server: ChatServer, patience: Patience) -> None:
        self._server = server
        self._patience = patience
        self._limit = "max_tokens"

    def ask(self, settings: AskSettings, seed: int | None, messages: list[Message]) -> tuple[ChatReply, int]:
        """Return the reply to a chat as `Patience.reply` does, with its errors."""
        try:
            return self._patience.reply(lambda: self._send_request(settings, seed, messages))
        except ChatError as error:
            # newer OpenAI models accept the limit only under another name, which their error states
            renamed = "max_completion_tokens"
            if error.status != _BAD_REQUEST or settings.max_tokens is None or renamed not in error.words:
                raise
            if self._limit == renamed:
                raise
            self._limit = renamed
            return self.ask(settings, seed, messages)

    def _send_request(self, settings: AskSettings, seed: int | None, messages: list[Message]) -> ChatReply:
        sampling: dict[str, Any] = {"temperature": settings.temperature, "seed": seed, self._limit: settings.max_tokens}
        return self._server.complete(settings.model, messages, **sampling)


class Conversation:
    """The turns of one attempt, continued from an interrupted run.

    Args:
        grade: grades the reply of a turn other than the last.
        prices: per million tokens of prompts and of replies, if known.
    """

    def __init__(
        self,
        attempt: PlannedAttempt,
        questioner: Questioner,
        grade: Grade,
        notify: Notify,
        prices: tuple[float | None, float | None] = (None, None),
    ) -> None:
        self._attempt = attempt
        self._questioner = questioner
        self._grade = grade
        self._notify = notify
        self.asked = attempt.read_unfinished() or Asked(
            challenge=attempt.challenge.id,
            attempt=attempt.number,
            began=datetime.datetime.now(datetime.UTC),
            settings=attempt.settings,
            price_in=prices[0],
            price_out=prices[1],
        )

    def hold(self) -> Asked:
        """Run turns until the limit, or until the reply has no fault left. An error keeps the turns so far.

        Raises:
            ChatError: the server gives no reply.
            JudgeError: a reply cannot be graded, through a fault of ours.
            Interrupted: the run ends.
        """
        allowed = self._attempt.settings.turns
        while self._is_open(allowed):
            self._notify(f"asked, turn {len(self.asked.turns) + 1} of {allowed}" if allowed > 1 else "asked")
            try:
                reply, tries = self._questioner.ask(self._attempt.settings, self._seed, self._build_messages())
            except ChatError as error:
                if self.asked.turns and error.status in _TOO_LONG:
                    break  # the chat no longer fits the model's context: end here
                raise
            self._add(_build_turn(reply, tries))
        return self.asked

    def _is_open(self, allowed: int) -> bool:
        """Return whether another turn follows; grade the last one if need be."""
        turns = self.asked.turns
        if not turns or len(turns) >= allowed:
            return not turns
        last = turns[-1]
        if last.feedback is None and (told := self._build_feedback(last)) is not None:
            self.asked = self.asked.model_copy(
                update={"turns": (*turns[:-1], last.model_copy(update={"feedback": told}))}
            )
            self._attempt.keep(self.asked)
        return self.asked.turns[-1].feedback is not None

    def _add(self, turn: Turn) -> None:
        self.asked = self.asked.model_copy(update={"turns": (*self.asked.turns, turn)})
        self._attempt.keep(self.asked)

    def _build_messages(self) -> list[Message]:
        messages: list[Message] = [{"role": "user", "content": self._attempt.prompt}]
        for turn in self.asked.turns:
            messages.append({"role": "assistant", "content": turn.reply})
            messages.append({"role": "user", "content": turn.feedback or ""})
        return messages

    @property
    def _seed(self) -> int | None:
        seed = self._attempt.settings.seed
        return None if seed is None else seed + self._attempt.number - 1

    def _build_feedback(self, turn: Turn) -> str | None:
        try:
            importer = read_turn(turn, self._attempt.name, self._attempt.challenge)
        except ReplyError as error:
            return feedback.on_unreadable(explain_missing_answer(turn, error), error.found)
        self._notify("graded between turns")
        record = self._grade_reply(importer)
        if record.error:
            raise JudgeError(f"{self._attempt}: turn {len(self.asked.turns)} could not be graded: {record.error}")
        return feedback.on_grade(record)

    def _grade_reply(self, importer: ReplyImporter) -> Record:
        with scratch.folder() as place:
            folder = place / self._attempt.name / self._attempt.challenge.id
            lay_out_reply(importer, folder)
            return self._grade(folder)


def _build_turn(reply: ChatReply, tries: int) -> Turn:
    return Turn(
        reply=reply.text,
        refusal=reply.refusal,
        finish=reply.finish,
        model=reply.model,
        tries=tries,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        seconds=round(reply.seconds, 3),
    )
