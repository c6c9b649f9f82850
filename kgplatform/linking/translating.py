"""Chinese words that names of things are made of, with what they are in English: 虎 tiger, 丘 hill, 湿地 wetland.

Names of places are read aloud in one language and translated in the other (虎丘, Tiger Hill), often only in part
(西溪湿地, Xixi Wetland). The words here are those that such names have in common everywhere: kinds of places and
institutions, nature, animals, colours, numbers and sizes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from typing import Final

_TABLE: Final = """
山 hill mountain mount|岭 ridge|峰 peak|丘 hill|岩 rock|石 stone|洞 cave|谷 valley|坡 slope|崖 cliff
林 forest grove|湖 lake|河 river|江 river|溪 creek stream brook|泉 spring|井 well|池 pond pool|潭 pool pond
海 sea|湾 bay|岛 island|洲 island islet|滩 beach|瀑布 waterfall|运河 canal|湿地 wetland|水库 reservoir
港 harbour harbor port|码头 pier wharf|渡 ferry|沙 sand|田 field|草原 grassland prairie|沙漠 desert|冰川 glacier
桥 bridge|塔 pagoda tower|寺 temple monastery|庙 temple|庵 nunnery|观 temple|祠 shrine|教堂 church|清真寺 mosque
园 garden|花园 garden|公园 park|庄 villa manor|山庄 villa|楼 tower building|阁 pavilion tower|亭 pavilion
台 terrace|殿 hall|堂 hall|厅 hall|馆 hall house|宫 palace|府 mansion|院 courtyard|门 gate|墙 wall|城 city
城墙 wall|关 pass|陵 mausoleum tomb|墓 tomb|碑 stele|遗址 site ruins|故居 residence|故里 hometown
故里 nativeplace|祖宅 house|码头 dock|街 street|路 road|大道 avenue|巷 lane alley|弄 lane|胡同 alley hutong
广场 square plaza|里 lane|道 road|村 village|镇 town|古镇 town|市 city|县 county|区 district|乡 township
省 province|州 prefecture|半岛 peninsula|博物馆 museum|美术馆 artmuseum|美术馆 artgallery|纪念馆 memorialhall
图书馆 library|书院 academy|书店 bookstore|书局 press|印 seal|出版社 press|大学 university|学院 college
学校 school|研究所 institute|实验室 laboratory|医院 hospital|剧院 theatre|剧院 theater|大剧院 grandtheatre
戏院 theatre|电影院 cinema|体育馆 stadium|体育场 stadium|社 society|学会 society|协会 association|酒店 hotel
饭店 hotel|宾馆 hotel|客栈 inn|旅馆 inn|酒楼 restaurant|餐厅 restaurant|面馆 noodlehouse|茶馆 teahouse
茶楼 teahouse|酒馆 tavern|咖啡馆 cafe|市场 market|商场 mall|车站 station|火车站 railwaystation|汽车站 busstation
机场 airport|地铁站 metrostation|工厂 factory|作坊 workshop|染坊 dyehouse|公司 company|银行 bank|集团 group
长城 greatwall|国家 national|国立 national|省立 provincial|人民 people|革命 revolutionary|世界 world|中国 china
金 gold golden|银 silver|铜 bronze copper|铁 iron|玉 jade|珠 pearl|木 wood wooden|竹 bamboo|松 pine|柏 cypress
梅 plum|兰 orchid|菊 chrysanthemum|莲 lotus|荷 lotus|桃 peach|柳 willow|桂 osmanthus|花 flower|草 grass|叶 leaf
茶 tea|龙 dragon|凤 phoenix|虎 tiger|狮 lion|象 elephant|马 horse|牛 ox|羊 goat sheep|鹿 deer|熊 bear|猴 monkey
鹤 crane|雁 goose|鹅 goose|燕 swallow|鸟 bird|鱼 fish|龟 turtle tortoise|蛇 snake|鸡 rooster
天 heaven sky heavenly|日 sun|月 moon|星 star|云 cloud|风 wind|雨 rain|雪 snow|雷 thunder|虹 rainbow|火 fire
水 water|春 spring|夏 summer|秋 autumn|冬 winter|晨 morning|夕 sunset evening|红 red|赤 red|黄 yellow|蓝 blue
青 green|绿 green|紫 purple|白 white|黑 black|彩 coloured|一 one|二 two|三 three|四 four|五 five|六 six|七 seven
八 eight|九 nine|十 ten|百 hundred|千 thousand|万 tenthousand|双 twin double|孤 solitary lonely|长 long
断 broken|圆 round|方 square|古 ancient|平 peace|安 peace|和 harmony|东 east|西 west|南 south|北 north
中 middle central|上 upper|下 lower|内 inner|外 outer|前 front|后 rear|新 new|老 old|大 grand great big
小 little small|高 high|佛 buddha|仙 fairy immortal|神 god|王 king|帝 emperor|圣 holy saint|灵 soul spirit
"""
_LONGEST: Final = 3
_MOST: Final = 64


@cache
def _words() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for entry in _TABLE.replace("\n", "|").split("|"):
        if entry:
            chinese, *english = entry.split()
            found[chinese] = (*found.get(chinese, ()), *english)
    return found


@cache
def translations(characters: str) -> frozenset[str]:
    """What Chinese characters may be in English, word by word, without blanks; empty where a word is not known.

    >>> sorted(translations("虎丘")), "ninecreek" in translations("九溪"), translations("咸亨")
    (['tigerhill'], True, frozenset())
    """
    ways: list[frozenset[str]] = [frozenset([""])]
    for end in range(1, len(characters) + 1):
        found: set[str] = set()
        for start in range(max(0, end - _LONGEST), end):
            for before, word in product(ways[start], _words().get(characters[start:end], ())):
                found.add(before + word)
        ways.append(frozenset(sorted(found)[:_MOST]))
    return ways[-1]
