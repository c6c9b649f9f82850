"""The words of answers: their steps, what can be done with them, and what is said where there is none."""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[str, tuple[str, str]]] = {
    "checked": ("Checked", "已核对"),
    "checked_all": ("every row has a source", "每一行都有出处"),
    "checked_some": ("{n} of {m} rows have a passage", "{m} 行中有 {n} 行有对应段落"),
    "checked_none": ("the rows have no passage", "各行均无对应段落"),
    "no_rows_step": ("No rows", "没有结果行"),
    "answer_kept": ("Kept as it was given on {when}.", "保存于 {when}，内容未变。"),
    "answer_again": ("Ask again now", "重新提问"),
    "answer_keep": ("Keep this answer", "保存此回答"),
    "answer_right_ask": ("Was this right?", "回答是否正确？"),
    "answer_right": ("Yes", "正确"),
    "answer_wrong": ("No", "不正确"),
    "answer_reason": ("What is wrong with it?", "哪里不对？"),
    "answer_send": ("Send", "提交"),
    "answer_said_right": (
        "Noted: the question and its query are a solved example now.",
        "已记录：此问题及其查询已成为示例。",
    ),
    "answer_said_wrong": ("Noted, with the answer and the reason.", "已记录此回答及原因。"),
    "answer_follow": ("Ask on", "继续提问"),
    "answer_follow_hint": ("A question about this answer", "就此回答继续提问"),
    "answer_how": ("How it was answered", "回答经过"),
    "answer_way": ("Way", "方式"),
    "answer_confidence": ("Confidence", "可信度"),
    "answer_steps": ("Steps", "步骤"),
    "answer_drafts": ("Drafts", "草稿"),
    "answer_draft_ok": ("nothing wrong", "无问题"),
    "answer_tokens": ("{n} model calls, {m} tokens", "{n} 次模型调用，{m} 个词元"),
    "answer_why_empty": ("Why nothing was found", "为何没有结果"),
    "answer_rewrites": ("Questions that this graph can answer", "此图谱可以回答的问题"),
    "answer_search_instead": ("Search for these words", "搜索这些词"),
    "answer_no_model": (
        "No language model is set, so plain wording is understood best. Search and queries work without one.",
        "未设置语言模型，因此措辞直接的问题更容易理解。搜索和查询页无需模型。",
    ),
    "answer_nothing_understood": (
        "No name, class or property of this graph was found in it.",
        "其中没有此图谱的名称、类或属性。",
    ),
    "answer_picture": ("The rows of the answer", "回答的结果行"),
    "ui_source": ("Source {n}", "出处 {n}"),
    "ui_open_document": ("Open in the document", "在文档中打开"),
}
"""Every phrase in (English, Chinese)."""
