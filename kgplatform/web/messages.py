"""What the server says of mistakes and refusals, in Chinese: the platform's own sentences are English everywhere below.

A message is found by its English wording, with ``{}`` for what it is about; one that is not listed stays English.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from flask import has_request_context

from kgplatform.web.frame import language

_QUERIES: Final = (
    ("this is not what SPARQL expects here: {}", "此处不符合 SPARQL 语法：{0}"),
    ("this is not what SPARQL expects here (the text ends too early)", "此处不符合 SPARQL 语法（语句过早结束）"),
    ("this is not what SPARQL expects here", "此处不符合 SPARQL 语法"),
    ("the prefix {} is not declared", "前缀 {0} 未声明"),
    ("a prefix is used that is not declared", "使用了未声明的前缀"),
    ("expected {}", "此处应为 {0}"),
    ("this is an update; the Query page only reads", "这是更新语句；查询页只能读取"),
    ("this is an update, not a query; use `kgplatform update`", "这是更新语句，不是查询；请使用 kgplatform update"),
    ("SERVICE reaches another server, which is switched off", "SERVICE 会访问其他服务器，此功能已关闭"),
    ("CONSTRUCT and DESCRIBE give a graph, not rows", "CONSTRUCT 和 DESCRIBE 返回的是图，不是结果行"),
    ("the graph has no class {}", "图谱中没有类 {0}"),
    ("the graph has no property {}", "图谱中没有属性 {0}"),
    ("nothing in the graph is called {}", "图谱中没有名为 {0} 的事物"),
    ("there is no graph {}", "没有图 {0}"),
    ("no {} has {} in the graph", "图谱中没有任何 {0} 具有 {1}"),
    ("no {} is ever a value of {} in the graph", "图谱中没有任何 {0} 是 {1} 的取值"),
    ("nearest: {}", "最接近的有：{0}"),
    ("?{} is selected but nothing binds it", "选取了 ?{0}，但没有任何模式给它赋值"),
    ("?{} is used but nothing binds it", "使用了 ?{0}，但没有任何模式给它赋值"),
    ("nothing joins {}: each is combined with every other", "{0} 之间没有联系：将产生所有组合"),
    ("{} is text, but the values of this property are things", "{0} 是文本，而此属性的取值是事物"),
    ("use an IRI, or match its label", "请使用 IRI，或匹配其名称"),
    ("the values of this property are numbers", "此属性的取值是数字"),
    ("write {} without quotes", "请写作 {0}，不加引号"),
    ("the values of this property are not numbers but {}", "此属性的取值不是数字，而是 {0}"),
    ("the values of this property have a language tag", "此属性的取值带有语言标记"),
    ("the values of this property have no language tag", "此属性的取值没有语言标记"),
    ("no label is written like this", "没有这样书写的名称"),
    ("write {}", "请写作 {0}"),
    ("the query has {} characters", "查询语句有 {0} 个字符"),
    ("the query nests {} deep", "查询语句嵌套了 {0} 层"),
    ("the query has more than {} tokens", "查询语句超过 {0} 个词元"),
    ("the query joins {} triples and operands", "查询语句连接了 {0} 个三元组和操作数"),
    ("the query has {} clauses such as OPTIONAL and FILTER", "查询语句有 {0} 个 OPTIONAL、FILTER 等子句"),
    ("{} are allowed", "最多允许 {0}"),
    ("{} is allowed", "最多允许 {0}"),
    ("the query used more than {} MB", "查询使用了超过 {0} MB 内存"),
    ("make it more selective or add a LIMIT", "请使其更具体，或加上 LIMIT"),
    ("all {} query workers are busy", "全部 {0} 个查询进程都在忙"),
    ("try again shortly", "请稍后再试"),
    ("stopped after {} s", "{0} 秒后已停止"),
    ("make a pattern more selective or add a LIMIT", "请让某个模式更具体，或加上 LIMIT"),
    ("the query was cancelled", "查询已取消"),
    ("whoever watches over the server may say why", "原因可询问服务器管理员"),
    ("the query could not be run", "查询未能运行"),
    ("the query is empty: {}", "查询语句为空：{0}"),
    ("a query has 1 to {} characters", "查询语句应有 1 到 {0} 个字符"),
    ("a name has letters, digits and hyphens, 80 at most", "名称只能用字母、数字和连字符，最多 80 个"),
    ("no query is saved as {}", "没有名为 {0} 的已存查询"),
    ("no query of that name is running", "没有运行中的同名查询"),
    ("it may have ended", "它可能已经结束"),
)

_QUESTIONS: Final = (
    ("a question has at most {} characters", "问题最多 {0} 个字符"),
    ("an answer without a query teaches nothing", "没有查询语句的回答无法成为示例"),
    ("that answer was given too long ago", "该回答的时间已过久"),
    ("ask again and judge it then", "请重新提问后再评价"),
    ("no answer is kept as {}", "没有保存名为 {0} 的回答"),
    ("no model is set", "未设置语言模型"),
    ("name one in kgplatform.toml under [model]", "请在 kgplatform.toml 的 [model] 中指定"),
    ("{} answers no questions", "{0} 不能用于回答问题"),
    ("there are {}", "可用的有：{0}"),
    ("drafts must be a number up to {}, not {}", "草稿数应为不超过 {0} 的数字，而不是 {1}"),
    ("now is {}", "now 的取值是 {0}"),
    ("write a moment as {}", "请按 {0} 的形式书写时刻"),
    ("too many questions are followed already", "同时提问的人太多"),
)

_THINGS: Final = (
    ("the graph says nothing about {}", "图谱中没有关于 {0} 的陈述"),
    ("{} is not an IRI", "{0} 不是 IRI"),
    ("{} is no IRI", "{0} 不是 IRI"),
    ("{} is no IRI and no prefixed name", "{0} 既不是 IRI，也不是带前缀的名称"),
    ("there is no class {}", "没有类 {0}"),
    ("no class is called {}", "没有名为 {0} 的类"),
    ("no property is called {}", "没有名为 {0} 的属性"),
    ("no course is called {}", "没有名为 {0} 的课程"),
    ("/ontology lists them", "请在“本体”页查看"),
    ("nothing is called {}", "没有名为 {0} 的事物"),
    ("there is no community {}", "没有社群 {0}"),
    ("it may have gone when they were last found", "上次重新划分时它可能已不存在"),
    ("bbox is west,south,east,north in degrees, such as {}", "bbox 应为西、南、东、北的度数，例如 {0}"),
    ("the settings name no file of boundaries (map.boundaries)", "设置中没有指定边界文件（map.boundaries）"),
    ("choose one of graph, class and since", "graph、class 和 since 只能选一个"),
    ("since is a day such as {}, not {}", "since 应为日期，例如 {0}，而不是 {1}"),
    ("say what to look for: {}", "请说明要查找的内容：{0}"),
)

_DOCUMENTS: Final = (
    ("no document {}", "没有文档 {0}"),
    ("no document fits {}", "没有符合 {0} 的文档"),
    ("`kgplatform documents` lists them", "可用 kgplatform documents 列出"),
    ("choose 1 to {} files", "请选择 1 到 {0} 个文件"),
    ("{} were sent", "收到 {0} 个"),
    ("{} is no address on the web", "{0} 不是网页地址"),
    ("{} MB can be sent at once (server.max_upload_mb)", "一次最多可上传 {0} MB（server.max_upload_mb）"),
    ("{} MB can be sent (server.max_upload_mb)", "最多可上传 {0} MB（server.max_upload_mb）"),
    ("use `kgplatform add`", "请使用 kgplatform add"),
    ("use `kgplatform load`", "请使用 kgplatform load"),
    ("no documents are being read now", "目前没有正在读取的文档"),
    ("this document is not kept apart", "此文档未被隔离"),
    ("this document has no such statement, or it cannot be judged so", "此文档没有该陈述，或无法这样评判"),
    ("nobody judged that statement", "该陈述尚未被评判"),
    ("the value is empty", "取值为空"),
    ("{} is no property of the ontology", "{0} 不是本体中的属性"),
    ("{} is no value of this property, which takes {}", "{0} 不能作为此属性的取值，它的取值是 {1}"),
    ("holds no text", "其中没有文字"),
    ("holds no rows", "其中没有数据行"),
    ("the first row should name the columns", "第一行应为列名"),
    ("is not text (binary content)", "不是文本（二进制内容）"),
    ("is encrypted", "已加密"),
    ("remove the password and add it again", "请去除密码后重新添加"),
    ("is protected by a password", "有密码保护"),
    ("save it without one", "请另存为无密码的文件"),
    ("is named .pdf but is not a PDF", "扩展名为 .pdf，但不是 PDF 文件"),
    ("is not a readable PDF ({})", "不是可读取的 PDF（{0}）"),
    ("is nested too deeply", "嵌套过深"),
    ("is too deeply nested to read", "嵌套过深，无法读取"),
    ("is damaged or cut short ({})", "文件已损坏或不完整（{0}）"),
    ("is damaged: {} cannot be unpacked ({})", "文件已损坏：{0} 无法解开（{1}）"),
    ("is not a table: {}", "不是表格：{0}"),
    ("is no workbook that can be read: {}", "不是可读取的工作簿：{0}"),
    ("cannot be read: {}", "无法读取：{0}"),
    ("page {} cannot be read ({})", "第 {0} 页无法读取（{1}）"),
    ("has the unsupported suffix {}", "扩展名 {0} 不受支持"),
    ("supported are {}", "支持的有：{0}"),
    ("nothing to read here", "没有可读取的内容"),
    ("takes longer than {} to read, see documents.parse_seconds", "读取超过 {0}，见 documents.parse_seconds"),
    ("does not exist", "不存在"),
    ("has {} columns", "有 {0} 列"),
    ("at most {} are read", "最多读取 {0}"),
    ("no JSON objects", "没有 JSON 对象"),
)

_ACCESS: Final = (
    ("a page of another origin may not change anything here", "其他来源的网页不能更改此处的内容"),
    ("this needs a token with the role {}", "此操作需要角色为 {0} 的令牌"),
    ("yours is {}", "您的角色是 {0}"),
    ("the token is not known here", "此令牌无效"),
    ("{} requests a minute are allowed", "每分钟最多 {0} 次请求"),
    ("come again in {} s", "请在 {0} 秒后再试"),
    (
        "only programs on this machine may change the graph, on a server that listens on localhost",
        "只有本机上的程序才能更改图谱，且服务器须只监听本机",
    ),
    (
        "for others make a token with `kgplatform token`, or use `kgplatform update` or `load`",
        "其他情况请用 kgplatform token 生成令牌，或使用 kgplatform update 或 load",
    ),
    ("the disk refuses to keep the answer: {}", "磁盘无法保存该回答：{0}"),
    ("the disk refuses to keep what was said: {}", "磁盘无法保存该评价：{0}"),
    ("there is nothing at this address", "此地址没有内容"),
    (
        "The requested URL was not found on the server. If you entered the URL manually please check your spelling and "
        "try again.",
        "服务器上没有此地址。如果是手动输入的，请检查拼写。",
    ),
    ("The method is not allowed for the requested URL.", "此地址不支持这种请求方式。"),
    ("Syntax error", "语法错误"),
    ("Query stopped", "查询已停止"),
    ("Query refused", "查询被拒绝"),
    ("Query failed", "查询失败"),
    ("Query cancelled", "查询已取消"),
    ("Busy", "繁忙"),
    ("Bad request", "请求有误"),
    ("Not found", "未找到"),
    ("Too large", "过大"),
    ("Forbidden", "无权操作"),
    ("Unauthorized", "需要令牌"),
    ("Read only", "只读"),
    ("Gone", "已过期"),
    ("Not in quarantine", "未被隔离"),
    ("Nothing to pause", "没有可暂停的工作"),
    ("Too many requests", "请求过于频繁"),
)

_PLACED = re.compile(r"(?:line (\d+), column (\d+)|line (\d+)): (.+)", re.DOTALL)


def _pattern(english: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in english.split("{}")]
    return re.compile("(.+?)".join(parts), re.DOTALL)


MESSAGES: Final = tuple(
    (_pattern(english), chinese) for english, chinese in (*_QUERIES, *_QUESTIONS, *_THINGS, *_DOCUMENTS, *_ACCESS)
)


@lru_cache(maxsize=2048)
def in_chinese(message: str) -> str:
    """The message in Chinese, as far as it is known; what is not stays as it is.

    >>> in_chinese("the prefix ex: is not declared")
    '前缀 ex: 未声明'
    >>> in_chinese("line 2, column 5: expected WHERE")
    '第 2 行，第 5 列：此处应为 WHERE'
    >>> in_chinese("something else")
    'something else'
    """
    if placed := _PLACED.fullmatch(message):
        place = f"第 {placed[1]} 行，第 {placed[2]} 列" if placed[1] else f"第 {placed[3]} 行"
        return f"{place}：{in_chinese(placed[4])}"
    head, divided, rest = message.partition("; ")
    if divided and (first := in_chinese(head)) != head:
        return f"{first}；{in_chinese(rest)}"
    for pattern, chinese in MESSAGES:
        if found := pattern.fullmatch(message):
            return chinese.format(*found.groups())
    return message


def told(message: str) -> str:
    """The message in the interface language of the request that is being answered."""
    return in_chinese(message) if has_request_context() and language() == "zh" else message
