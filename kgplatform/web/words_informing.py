"""The words of the pages of export, programs, and what this is."""

from __future__ import annotations

from typing import Final

WORDS: Final[dict[str, tuple[str, str]]] = {
    "export_one": ("Everything, or one of these.", "全部内容，或下列之一。"),
    "export_of_class": ("Things of a class", "某一类的事物"),
    "export_graph": ("A graph by itself", "单独一个图"),
    "export_how": ("How", "方式"),
    "export_gz": ("Packed (gzip)", "压缩（gzip）"),
    "export_context": ("JSON-LD context", "JSON-LD 上下文"),
    "export_sitemap": ("Sitemap", "站点地图"),
    "format_turtle": ("Turtle: statements to read", "Turtle：便于阅读"),
    "format_ntriples": ("N-Triples: a statement on each line", "N-Triples：每行一条陈述"),
    "format_nquads": ("N-Quads: with the graph that each rests on", "N-Quads：附所依据的图"),
    "format_trig": ("TriG: graphs to read", "TriG：按图列出，便于阅读"),
    "format_rdfxml": ("RDF/XML", "RDF/XML"),
    "format_jsonld": ("JSON-LD", "JSON-LD"),
    "format_graphml": ("GraphML: a network for Gephi, yEd, networkx", "GraphML：网络，供 Gephi、yEd、networkx 使用"),
    "format_gexf": ("GEXF: a network for Gephi", "GEXF：网络，供 Gephi 使用"),
    # programs
    "api_lead": (
        "Everything these pages show can be asked by programs, at the same addresses. Copy a line and run it.",
        "这些页面的内容均可由程序在相同地址获取。复制一行即可运行。",
    ),
    "api_void": ("What the data holds (VoID)", "数据概况（VoID）"),
    "api_rights": ("Who may do what", "权限"),
    "api_rights_text": (
        "On this machine no token is needed. From elsewhere a token is sent as Authorization: Bearer …; make one with",
        "在本机无需令牌。从其他机器访问时，请以 Authorization: Bearer … 发送令牌；生成令牌：",
    ),
    "api_curl_query": ("A query, rows as JSON", "查询，结果为 JSON"),
    "api_curl_csv": ("The same as CSV", "同上，结果为 CSV"),
    "api_curl_ask": ("A question", "提问"),
    "api_curl_add": ("Documents to add", "添加文档"),
    "api_curl_jobs": ("The progress of reading, as events", "读取进度（事件流）"),
    "api_python": ("A query from Python, with nothing installed", "用 Python 查询，无需安装任何包"),
    "api_python_local": ("The workspace in Python, without a server", "在 Python 中打开工作区，无需服务器"),
    "api_addresses": ("All addresses", "全部地址"),
    "api_method": ("Method", "方法"),
    "api_address": ("Address", "地址"),
    "api_gives": ("What it is for", "用途"),
    # about
    "about_lead": (
        "Documents and tables become a graph that can be asked, queried, checked and published.",
        "把文档和表格变成可以提问、查询、检查和发布的图谱。",
    ),
    "data_language": ("Names of things", "事物的名称"),
    "data_language_hint": ("Show them first in", "优先显示的语言"),
    "data_language_none": ("the language of the pages", "界面语言"),
    "data_language_set": ("Set", "设置"),
    "about_local": ("Why nothing leaves this machine", "为何数据不会离开本机"),
    "about_local_pages": (
        "These pages load scripts, styles and fonts from this server only. The browser enforces it: each page is sent "
        "with the policy below, by which it blocks any request to another host. Maps draw outlines that come with the "
        "pages, without tiles from elsewhere.",
        "这些页面只从本服务器加载脚本、样式和字体。浏览器会强制执行：每个页面都附有下列策略，任何发往其他主机的请求都会被阻止。"
        "地图使用随页面提供的轮廓，不从别处加载图块。",
    ),
    "about_policy": ("The Content-Security-Policy", "内容安全策略（Content-Security-Policy）"),
    "about_local_server": (
        "The server itself asks other machines only where the settings say so:",
        "服务器本身只有在设置中指明时才会访问其他机器：",
    ),
    "about_model": ("Language model", "语言模型"),
    "about_embedding": ("Embedding model", "嵌入模型"),
    "about_here": ("runs here", "在本机运行"),
    "about_web": ("Reads web pages", "读取网页"),
    "about_endpoints": ("Asks other endpoints", "访问其他端点"),
    "about_none": ("none", "无"),
    "about_licences": ("What it stands on", "所用软件"),
    "about_licence": ("Licence", "许可证"),
    "about_parts": ("Built into the pages", "页面内含"),
    "about_parts_none": (
        "The scripts of the pages are not built here; the pages are plain forms and tables.",
        "此处未构建页面脚本；页面为普通表单和表格。",
    ),
}
"""Every phrase in (English, Chinese)."""
