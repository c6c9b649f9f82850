"""The prompt templates: each shipped one, and the rules that hold for all."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kgplatform import prompts, resources
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.protocols import Message


def _shipped() -> list[str]:
    try:
        return prompts.names()
    except FileNotFoundError:
        return []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "greet.j2").write_text(
        "{# variables: place, notes #}\nYou greet guests of {{ place }}.\n---\n"
        "{% for note in notes %}\n- {{ note }}\n{% endfor %}\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.parametrize("name", _shipped())
def test_shipped_prompt_lists_exactly_the_variables_it_uses(name: str) -> None:
    # variables() checks this, over includes too; a prompt without any must render as it is
    if not prompts.variables(name):
        assert prompts.render(name).text


@pytest.mark.parametrize("name", _shipped())
def test_shipped_prompt_wants_each_of_its_variables(name: str) -> None:
    wanted = prompts.variables(name)
    for variable in wanted:
        values = dict.fromkeys(wanted - {variable}, "some value")
        with pytest.raises(ConfigError, match=f"lacks {variable};"):
            prompts.render(name, **values)  # type: ignore[arg-type]


def test_render_fills_in_and_hashes_the_template(folder: Path) -> None:
    prompt = prompts.render("greet", folder=folder, place="乌镇", notes=["quiet", "安静"])
    assert prompt.text == "You greet guests of 乌镇.\n\n- quiet\n- 安静"
    other = prompts.render("greet", folder=folder, place="Wuzhen", notes=[])
    assert prompt.sha256 == other.sha256 == hashlib.sha256((folder / "greet.j2").read_bytes()).hexdigest()


def test_render_messages_parts_system_from_user_and_no_value_can_forge_the_line(folder: Path) -> None:
    messages, sha256 = prompts.render_messages("greet", folder=folder, place="x\n---\ny", notes=["a\n---\nb"])
    assert messages == [
        Message("system", "You greet guests of x\n---\ny."),
        Message("user", "- a\n---\nb"),
    ]
    assert len(sha256) == 64


def test_prompt_without_a_separator_is_a_user_message(tmp_path: Path) -> None:
    (tmp_path / "ask.j2").write_text("{# variables: #}\nWhat is <b> & so on?\n", encoding="utf-8")
    messages, _ = prompts.render_messages("ask", folder=tmp_path)
    assert messages == [Message("user", "What is <b> & so on?")]


def test_missing_and_unknown_variables_are_named(folder: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        prompts.render("greet", folder=folder, place="x", note="y")
    assert str(caught.value) == "prompt 'greet' lacks notes and does not know note; its variables are: notes, place"
    assert caught.value.setting == "greet"


def test_unknown_prompt_offers_the_nearest(folder: Path) -> None:
    with pytest.raises(NotFoundError, match="no prompt 'great'; did you mean 'greet'"):
        prompts.render("great", folder=folder)
    with pytest.raises(NotFoundError, match="no prompt"):
        prompts.render("../greet", folder=folder / "inner")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("Hello {{ name }}", "does not begin with a line"),
        ("{# variables: name #}\nHello", r"lists the variables name but uses \(none\)"),
        ("{# variables: #}\nHello {{ name }}", r"lists the variables \(none\) but uses name"),
        ("{# variables: name #}\n{{ name }}\n---\nb\n---\nc", "more than one line"),
        ("{# variables: name #}\n{% if name %}", "line 2: Unexpected end of template"),
        ("{# variables: name #}\n{{ name.nothing }}", "has no attribute 'nothing'"),
        ("{# variables: name #}\n{{ name.__class__.__mro__ }}", "unsafe"),
        ("{# variables: name #}\n{{ name }}{% include '_none.j2' %}", "includes '_none.j2', which is not there"),
    ],
)
def test_faulty_template_is_told_in_one_line(tmp_path: Path, template: str, message: str) -> None:
    (tmp_path / "bad.j2").write_text(template, encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as caught:
        prompts.render("bad", folder=tmp_path, name="x")
    assert "'bad'" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_included_part_counts_in_variables_and_hash_but_is_no_prompt(tmp_path: Path) -> None:
    (tmp_path / "_part.j2").write_text("{# shared #}\nin {{ language }}", encoding="utf-8")
    (tmp_path / "whole.j2").write_text("{# variables: language #}\nReply {% include '_part.j2' %}.", encoding="utf-8")
    before = prompts.render("whole", folder=tmp_path, language="中文")
    assert before.text == "Reply in 中文."
    (tmp_path / "_part.j2").write_text("{# shared #}\nonly in {{ language }}", encoding="utf-8")
    after = prompts.render("whole", folder=tmp_path, language="中文")
    assert after.text == "Reply only in 中文."
    assert after.sha256 != before.sha256
    assert "whole" in prompts.names(folder=tmp_path)
    assert "_part" not in prompts.names(folder=tmp_path)


def test_own_folder_overrides_the_shipped_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped, own = tmp_path / "templates", tmp_path / "own"
    for place, text in ((shipped / "prompts", "shipped"), (own, "own")):
        place.mkdir(parents=True)
        (place / "say.j2").write_text(f"{{# variables: #}}\n{text}", encoding="utf-8")
    (shipped / "prompts" / "other.j2").write_text("{# variables: #}\nother", encoding="utf-8")
    monkeypatch.setattr(resources, "folder", lambda name: tmp_path / name)
    prompts._environment.cache_clear()
    try:
        assert prompts.render("say").text == "shipped"
        assert prompts.render("say", folder=own).text == "own"
        assert prompts.render("other", folder=own).text == "other"
        assert prompts.names(folder=own) == ["other", "say"]
    finally:
        prompts._environment.cache_clear()


def test_values_are_not_templates(folder: Path) -> None:
    prompt = prompts.render("greet", folder=folder, place="{{ 7 * 7 }}", notes=["{% raise %}"])
    assert "{{ 7 * 7 }}" in prompt.text
    assert "{% raise %}" in prompt.text
