"""Writes the PDF travel note of this folder: ``python examples/travel/make_pdf.py``.

The PDF is committed next to this script and can be made again byte for byte: reportlab's ``invariant`` mode leaves out
the time and the random document id. The Chinese text uses the CID font STSong-Light, so no font file is needed; that
font has no bold weight, so the title draws its letters filled and outlined.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer

CHINESE_FONT: Final = "STSong-Light"
FILL_AND_STROKE: Final = 2  # text rendering mode, ISO 32000-1 table 106
FILE_NAME: Final = "shaoxing-huangjiu-liangri.pdf"

TITLE: Final = "绍兴两日:跟着课本喝黄酒"
SUBTITLE: Final = "Shaoxing in two days, with yellow wine"
BYLINE: Final = "作者:微醺的语文老师  2024-10-05"

SECTIONS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "一、鲁迅故里:从百草园到三味书屋",
        (
            "家人们,背过的课文真的会追着你跑!鲁迅故里位于绍兴市越城区鲁迅中路,和沈园一起在2012年评为国家5A级旅游景区。"
            "鲁迅故里免费开放,要提前预约并带身份证。里面有鲁迅祖居、鲁迅故居、百草园和三味书屋,三味书屋的课桌上还刻着那个“早”字,"
            "特别适合带中小学生来研学。门口的小河里可以坐乌篷船。",
            "怎么去:绍兴地铁1号线设有鲁迅故里站,1号线在姑娘桥站和杭州地铁5号线换乘,所以从杭州坐地铁就能到绍兴。",
        ),
    ),
    (
        "二、沈园与八字桥",
        (
            "沈园是南宋时一位沈姓富商的私家园林,离鲁迅故里步行不到10分钟,相传陆游和唐琬在这里重逢,墙上题了《钗头凤》。"
            "沈园晚上有夜游和越剧演出,适合情侣。八字桥建于南宋,宝祐四年(1256年)重建,因为两边桥坡像“八”字而得名,"
            "清早没什么人,适合摄影。仓桥直街是一条沿河老街,有不少老台门。",
        ),
    ),
    (
        "三、黄酒、茴香豆和臭豆腐",
        (
            "咸亨酒店创办于清光绪二十年(1894年),就在鲁迅中路上,离鲁迅故里步行几分钟。必点茴香豆、臭豆腐和一碗太雕酒,"
            "站在曲尺柜台边上喝,你就是孔乙己本人。绍兴黄酒用糯米、麦曲和鉴湖水酿成,花雕就是装在雕花酒坛里的绍兴黄酒,"
            "温一温更香,开车的朋友请自觉喝绿豆汤。霉干菜焖肉和醉蟹也是绍兴名菜。",
            "最佳季节是春天和秋天;立冬前后开始酿冬酒,酒厂最热闹。离市区不远的安昌古镇,腊月里满街挂腊肠,可以顺路去。",
        ),
    ),
    (
        "In short, for friends who read English",
        (
            "The Lu Xun Native Place is in Yuecheng District, Shaoxing, and admission is free with a booking. "
            "Shen Garden is less than ten minutes on foot from it. The Xianheng Inn was founded in 1894 and is known "
            "for aniseed beans, stinky tofu and Shaoxing yellow wine. Bazi Bridge was rebuilt in 1256. "
            "Lanting, the Orchid Pavilion, lies in the south-west of Shaoxing; Wang Xizhi wrote the Lantingji Xu there "
            "in the year 353.",
        ),
    ),
)


class BoldChineseTitle(Flowable):
    """Draws one line of Chinese in large letters that look bold.

    Args:
        text: The line; it must fit the frame's width.
        size: Font size in points.
    """

    def __init__(self, text: str, *, size: float) -> None:
        super().__init__()
        self.text = text
        self.size = size

    def wrap(self, available_width: float, _available_height: float) -> tuple[float, float]:
        """Returns the width and height the line takes."""
        return available_width, self.size * 1.4

    def draw(self) -> None:
        """Draws the line at the flowable's own origin."""
        line = self.canv.beginText(0, self.size * 0.3)
        line.setFont(CHINESE_FONT, self.size)
        line.setTextRenderMode(FILL_AND_STROKE)
        self.canv.setLineWidth(0.6)
        line.textOut(self.text)
        self.canv.drawText(line)


def draw_footer(canvas: Canvas, document: SimpleDocTemplate) -> None:
    """Draws the page number at the foot of the page being finished."""
    canvas.saveState()
    canvas.setFont(CHINESE_FONT, 9)
    canvas.drawCentredString(A4[0] / 2, 12 * mm, f"第 {document.page} 页")
    canvas.restoreState()


def style(name: str, *, font: str, size: float, space_before: float = 0) -> ParagraphStyle:
    """Returns a paragraph style; Chinese text may break between any two characters."""
    return ParagraphStyle(
        name,
        fontName=font,
        fontSize=size,
        leading=size * 1.6,
        spaceBefore=space_before,
        spaceAfter=size * 0.5,
        wordWrap="CJK" if font == CHINESE_FONT else None,
    )


def story() -> list[Flowable]:
    """Returns the note's title, headings and paragraphs in reading order."""
    chinese = style("body-zh", font=CHINESE_FONT, size=12)
    english = style("body-en", font="Helvetica", size=11)
    heading_zh = style("heading-zh", font=CHINESE_FONT, size=16, space_before=10)
    heading_en = style("heading-en", font="Helvetica-Bold", size=14, space_before=10)
    parts: list[Flowable] = [
        BoldChineseTitle(TITLE, size=26),
        Paragraph(SUBTITLE, style("subtitle", font="Helvetica-Bold", size=14)),
        Paragraph(BYLINE, style("byline", font=CHINESE_FONT, size=10)),
        Spacer(1, 4 * mm),
    ]
    for heading, paragraphs in SECTIONS:
        is_english = heading.isascii()
        parts.append(Paragraph(heading, heading_en if is_english else heading_zh))
        parts.extend(Paragraph(text, english if is_english else chinese) for text in paragraphs)
    return parts


def write_pdf(path: Path) -> None:
    """Writes the note to `path`, replacing what is there."""
    pdfmetrics.registerFont(UnicodeCIDFont(CHINESE_FONT))
    document = SimpleDocTemplate(
        str(path),
        pagesize=A4,
        leftMargin=25 * mm,
        rightMargin=25 * mm,
        topMargin=22 * mm,
        bottomMargin=25 * mm,
        title=TITLE,
        author="微醺的语文老师",
        invariant=1,
    )
    document.build(story(), onFirstPage=draw_footer, onLaterPages=draw_footer)


def main() -> None:
    """Reads the output path from the command line and writes the PDF there."""
    parser = argparse.ArgumentParser(description="Write the PDF travel note.")
    parser.add_argument("path", nargs="?", type=Path, default=Path(__file__).with_name(FILE_NAME))
    write_pdf(parser.parse_args().path)


if __name__ == "__main__":
    main()
