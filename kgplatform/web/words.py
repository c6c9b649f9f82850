"""The words of the interface, in English and Chinese. Data keeps its own languages."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from kgplatform.web import (
    words_answers,
    words_browsing,
    words_documents,
    words_frame,
    words_informing,
    words_query,
    words_runs,
    words_studies,
)

PARTS: Final[tuple[ModuleType, ...]] = (
    words_informing,
    words_runs,
    words_answers,
    words_documents,
    words_browsing,
    words_frame,
    words_query,
    words_studies,
)
"""The modules with the words of single pages, each with its ``WORDS``; scripts get those that begin with ``ui_``."""

LANGUAGES: Final = ("en", "zh")

WORDS: Final[dict[str, tuple[str, str]]] = {
    # the frame
    "ask": ("Ask", "提问"),
    "query": ("Query", "查询"),
    "documents": ("Documents", "文档"),
    "ontology": ("Ontology", "本体"),
    "find": ("Find anything", "查找"),
    "skip": ("Skip to the content", "跳到正文"),
    "theme": ("Light or dark", "浅色或深色"),
    "other_language": ("中文", "EN"),
    "other_language_title": ("显示中文界面", "Show the interface in English"),
    "endpoint": ("SPARQL endpoint", "SPARQL 端点"),
    "footer": ("Nothing leaves this machine.", "数据不会离开本机。"),
    # ask
    "ask_title": ("Ask the graph", "向图谱提问"),
    "ask_hint": ("Ask in English or Chinese", "可用中文或英文提问"),
    "ask_about": ("Ask about this", "就此提问"),
    "every_answer": ("Every answer shows its query and its sources.", "每个回答都附有查询语句和出处。"),
    "holds": ("{statements} statements about {things}.", "关于 {things}的 {statements} 条陈述。"),
    "counted": ("{n} {things}", "{n} 个{things}"),
    "and": (" and ", "和"),
    "comma": (", ", "、"),
    "updated": ("updated {time}", "更新于 {time}"),
    "kind_lookup": ("Look up", "查一个事实"),
    "kind_count": ("Count", "计数"),
    "kind_list": ("List", "列出"),
    "kind_other": ("Ask in Chinese", "用英文提问"),
    "hint_lookup": ("one fact, one source", "一个事实，一处出处"),
    "hint_count": ("a number and its query", "一个数字及其查询"),
    "hint_list": ("a table of rows", "一张结果表"),
    "hint_other": ("the same graph, another language", "同一图谱，另一种语言"),
    "understood": ("Understood", "理解为"),
    "query_written": ("Query checked", "查询已检查"),
    "drafts": ("{n} of {m} drafts valid", "{m} 个草稿中第 {n} 个有效"),
    "rows": ("{n} rows", "{n} 行"),
    "row": ("1 row", "1 行"),
    "in_seconds": ("in {t} s", "用时 {t} 秒"),
    "sources": ("Sources", "出处"),
    "sources_none": ("These rows come without a passage.", "这些结果没有对应的段落。"),
    "how_chosen": ("Where the answer comes from", "回答的来源"),
    "asked_in_order": ("Asked in this order", "查询的顺序"),
    "chosen_graph": ("the graph", "图谱"),
    "chosen_passages": ("passages of documents", "文档段落"),
    "chosen_graph+passages": ("graph and passages", "图谱和段落"),
    "chosen_web": ("pages of the web", "网页"),
    "chosen_none": ("no source could answer", "没有来源能够回答"),
    "outcome_answered": ("answered", "已回答"),
    "outcome_unsure": ("not sure enough", "不够确定"),
    "outcome_nothing": ("nothing found", "没有找到"),
    "outcome_down": ("could not be asked", "无法查询"),
    "about_domain": ("About", "领域"),
    "about_changes": ("facts change", "变化"),
    "the_query": ("Query that produced this", "得出此结果的查询"),
    "open_editor": ("Open in editor", "在编辑器中打开"),
    "copy": ("Copy", "复制"),
    "copied": ("Copied", "已复制"),
    "by_builtin": ("built-in methods, no model", "内置方法，未用模型"),
    "by_model": ("model {name}", "模型 {name}"),
    "confidence_high": ("high confidence", "可信度高"),
    "confidence_medium": ("medium confidence", "可信度中"),
    "confidence_low": ("low confidence", "可信度低"),
    "does_not_say": ("The graph does not say.", "图谱中没有答案。"),
    "nearest": ("Nearest passages, which may not answer it", "最接近的段落，未必回答了问题"),
    "reply": ("Reply", "回复"),
    "reply_hint": ("Your reply, such as a number, a time or a name", "您的回复，例如编号、时间或名称"),
    "which": ("Which one do you mean?", "您指的是哪一个？"),
    "permalink": ("Permanent address", "固定地址"),
    "too_long": ("The question is too long; {n} characters are allowed.", "问题过长，最多 {n} 个字符。"),
    # nothing here
    "empty_title": ("Nothing here yet.", "这里还没有内容。"),
    "empty_text": ("Add documents or tables, here or on the command line.", "请在此处或命令行中添加文档或表格。"),
    "load_sample": ("Load the sample", "载入示例"),
    # query
    "run": ("Run", "运行"),
    "examples": ("Examples", "示例"),
    "result": ("Result", "结果"),
    "download": ("Download", "下载"),
    "query_label": ("SPARQL query", "SPARQL 查询"),
    "nothing_run": ("Press Ctrl-Enter to run the query, or pick an example.", "按 Ctrl-Enter 运行查询，或选一个示例。"),
    "no_rows": (
        "The query is valid but nothing in the graph matches it.",
        "查询语句正确，但图谱中没有匹配的内容。",
    ),
    "truncated": ("Only the first {n} rows are shown; download has them all.", "仅显示前 {n} 行；下载可得全部。"),
    "cut_text": ("Only the beginning is shown; download has it all.", "仅显示开头部分；下载可得全部。"),
    "at_place": ("Line {line}, column {column}", "第 {line} 行，第 {column} 列"),
    "not_run": ("Not run", "未运行"),
    "stopped": ("Stopped after {t} s", "{t} 秒后已停止"),
    "stopped_hint": (
        "Make a pattern more selective, or take fewer rows. The query is unchanged.",
        "请让某个模式更具体，或减少行数。查询语句保持不变。",
    ),
    "add_limit": ("Add LIMIT 1000", "加上 LIMIT 1000"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "prefixes": ("Prefixes that need no declaration", "无需声明的前缀"),
    # entity
    "also": ("Also called", "又称"),
    "referred": ("Referred to by", "被引用于"),
    "instances": ("instances", "实例"),
    "more": ("{n} more", "还有 {n} 项"),
    "as_formats": ("This page as", "此页的其他格式"),
    "source": ("source", "出处"),
    "origin_asserted": ("stated by hand", "人工陈述"),
    "origin_inferred": ("inferred", "推断"),
    "origin_links": ("linked", "链接"),
    "origin_ontology": ("ontology", "本体"),
    "origin_table": ("table", "表格"),
    "export": ("Export", "导出"),
    "export_lead": ("The graph as a file: RDF, or a network to draw.", "以文件形式取走图谱：RDF，或用于绘图的网络。"),
    "export_what": ("What", "内容"),
    "export_all": ("Everything", "全部"),
    "export_since": ("Only what came with documents read since", "仅限此日起读入的文档带来的内容"),
    "export_format": ("Format", "格式"),
    "export_at": ("As it was", "版本"),
    "export_now": ("Now", "当前"),
    "export_header": ("Say at the top what it holds", "在文件开头说明内容"),
    "export_do": ("Download", "下载"),
    "conformance": ("Conformance", "标准符合性"),
    "conformance_run": ("The W3C's tests, run {when}, version {version}.", "W3C 测试，运行于 {when}，版本 {version}。"),
    "conformance_none": ("The W3C's tests have not been run for this workspace.", "尚未为此工作区运行 W3C 测试。"),
    "suite": ("Suite", "测试集"),
    "tests": ("Tests", "测试数"),
    "passed": ("Passed", "通过"),
    "deviating": ("Known not to", "已知不符"),
    "failed_tests": ("Failed", "失败"),
    "as_of": ("This is version {n}, of {when}.", "这是版本 {n}（{when}）。"),
    "as_now": ("See it as it is now", "查看当前内容"),
    "replaced_by": ("Replaced by", "已被取代为"),
    "no_facts": ("The graph states nothing more about it.", "图谱中没有更多陈述。"),
    # search
    "found_things": ("Things", "事物"),
    "words_only": ("Passages were found by words only:", "段落仅按词语检索："),
    "found_passages": ("Passages", "段落"),
    "found_nothing": (
        "Nothing in the graph is called so, and no passage is near.",
        "图谱中没有此名称，也没有相近的段落。",
    ),
    "search_hint": ("Type a name or some words.", "输入名称或词语。"),
    # documents
    "name": ("Name", "名称"),
    "state": ("State", "状态"),
    "statements": ("Statements", "陈述"),
    "refused": ("Refused", "未采纳"),
    "changed": ("Changed", "更改时间"),
    "state_pending": ("Waiting", "等待中"),
    "state_processing": ("Being read", "正在读取"),
    "state_processed": ("In the graph", "已入图谱"),
    "state_failed": ("Failed", "失败"),
    "documents_count": ("{n} documents, {m} statements", "{n} 份文档，{m} 条陈述"),
    "statements_read": ("Statements read here", "从此处读出的陈述"),
    "statements_none": ("No statement was read from this document.", "未从此文档读出陈述。"),
    "text": ("Text", "正文"),
    "passage_part": ("characters {a} to {b} of {n}", "第 {a} 至 {b} 字，共 {n} 字"),
    "earlier": ("Earlier", "前一部分"),
    "later": ("Later", "后一部分"),
    "add_how": ("Add documents from the command line:", "在命令行添加文档："),
    "about_graph": ("About this document", "关于此文档"),
    # ontology
    "classes": ("Classes", "类"),
    "properties": ("Properties", "属性"),
    "domain": ("Of", "主体"),
    "range": ("Value", "取值"),
    "used": ("Used", "使用"),
    "anything": ("anything", "任意"),
    "ontology_count": ("{n} classes, {m} properties", "{n} 个类，{m} 个属性"),
    # errors
    "error_404": ("There is no such page.", "没有这个页面。"),
    "error_400": ("The request cannot be understood.", "无法理解该请求。"),
    "error_405": ("This address is not asked that way.", "该地址不支持这种请求方式。"),
    "error_413": ("The request is too large.", "请求过大。"),
    "error_500": ("Something went wrong here; the server's log has the details.", "服务器出错，详情见服务器日志。"),
    "back": ("Back to the first page", "返回首页"),
}
"""Every phrase in (English, Chinese); ``{…}`` are filled in."""

for _part in PARTS:
    WORDS.update(_part.WORDS)


def scripted(language: str) -> dict[str, str]:
    """The phrases that scripts need, in the language, by their keys without ``ui_``."""
    at = 1 if language == "zh" else 0
    return {key.removeprefix("ui_"): pair[at] for key, pair in WORDS.items() if key.startswith("ui_")}


def phrase(key: str, language: str, **values: object) -> str:
    """The phrase in the language, its blanks filled in."""
    pair = WORDS[key]
    text = pair[1] if language == "zh" else pair[0]
    return text.format(**values) if values else text


_IRREGULAR: Final = {"aircraft": "aircraft", "person": "people", "child": "children", "series": "series"}


def plural(noun: str) -> str:
    """The plural of an English noun.

    >>> plural("dish"), plural("city"), plural("hotel"), plural("person")
    ('dishes', 'cities', 'hotels', 'people')
    """
    for whole, several in _IRREGULAR.items():
        if noun.endswith(whole):
            return noun.removesuffix(whole) + several
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
