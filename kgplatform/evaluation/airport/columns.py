"""The columns of the flight table as people ask for them: a name and paraphrases in English and Chinese."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name in both languages, and whole questions for it with ``{f}`` for the flight."""

    name: str
    en: str
    zh: str
    ask_en: tuple[str, ...] = ()
    ask_zh: tuple[str, ...] = ()


ASKED: tuple[Column, ...] = (
    Column("flight_uid", "flight UID", "航班唯一标识"),
    Column(
        "airline",
        "airline",
        "航空公司",
        ("Which airline operates {f}?", "Who operates {f}?"),
        ("{f}由哪家航空公司运营？",),
    ),
    Column("direction", "direction", "进出港方向", ("Is {f} an arrival or a departure?",), ("{f}是到港还是离港？",)),
    Column("origin", "origin", "始发机场", ("Where does {f} come from?",), ("{f}从哪里来？",)),
    Column(
        "destination", "destination", "目的机场", ("Where does {f} go?", "Where does {f} fly to?"), ("{f}飞往哪里？",)
    ),
    Column(
        "aircraft_registration",
        "aircraft registration",
        "飞机注册号",
        ("Which aircraft flies {f}?", "With which plane is {f} flown?"),
        ("{f}用哪架飞机？",),
    ),
    Column("aircraft_category", "aircraft category", "机型类别", ("What is the category of the aircraft of {f}?",), ()),
    Column("gate", "gate", "登机口", ("Which gate does {f} use?", "At which gate is {f}?"), ("{f}在哪个登机口？",)),
    Column("bus_gate", "bus gate", "摆渡登机口", ("Which bus gate does {f} use?",), ("{f}使用哪个摆渡登机口？",)),
    Column("bus_service_needed", "bus service needed", "摆渡车服务", (), ("{f}是否需要摆渡车？",)),
    Column(
        "ramp", "ramp", "机位", ("On which ramp is {f} parked?", "Which stand does {f} use?"), ("{f}停在哪个机位？",)
    ),
    Column(
        "previous_ramp", "previous ramp", "原机位", ("What was the previous ramp of {f}?",), ("{f}的前一机位是哪个？",)
    ),
    Column("pier", "pier", "指廊", ("At which pier is {f}?",), ("{f}在哪个指廊？",)),
    Column(
        "main_ground_handler",
        "main ground handler",
        "主要地面服务商",
        ("Who handles {f}?", "Which company handles {f} on the ground?"),
        ("谁负责{f}的地面服务？",),
    ),
    Column("connecting_flight_number", "connecting flight number", "衔接航班号", (), ()),
    Column(
        "connecting_flight_uid",
        "connecting flight",
        "衔接航班",
        ("Which flight does {f} connect to?",),
        ("{f}的连班是哪个？",),
    ),
    Column(
        "scheduled_block_time", "scheduled block time", "计划挡轮时间", ("When is {f} scheduled?",), ("{f}计划几点？",)
    ),
    Column("best_block_time", "best block time", "最佳挡轮时间"),
    Column(
        "expected_block_time",
        "expected block time",
        "预计挡轮时间",
        ("When is {f} expected?",),
        ("{f}的预计时间是什么？",),
    ),
    Column("actual_block_time", "actual block time", "实际挡轮时间", (), ("{f}的实际时间是什么？",)),
    Column("expected_on_ramp", "expected on ramp time", "预计入位时间"),
    Column(
        "actual_on_ramp",
        "actual on ramp time",
        "实际入位时间",
        ("When was {f} on blocks?",),
        ("{f}什么时候停入机位？",),
    ),
    Column("expected_off_ramp", "expected off ramp time", "预计离位时间"),
    Column(
        "actual_off_ramp",
        "actual off ramp time",
        "实际离位时间",
        ("When was {f} off blocks?",),
        ("{f}什么时候离开机位？",),
    ),
    Column("expected_tow_in", "expected tow in time", "预计拖入时间"),
    Column("expected_tow_off", "expected tow off time", "预计拖出时间"),
    Column("tow_in_request", "tow in request time", "请求拖入时间", ("When was the tow in of {f} requested?",), ()),
    Column("tow_off", "tow off time", "拖出时间", ("When was {f} towed off?",), ()),
    Column(
        "actual_final_approach",
        "actual final approach",
        "实际最后进近时间",
        ("When did {f} begin its final approach?",),
        (),
    ),
    Column("boarding", "boarding time", "登机时间", ("When does boarding of {f} start?",), ("{f}几点登机？",)),
    Column("push_back", "push back time", "推出时间", ("When was {f} pushed back?",), ("{f}什么时候推出？",)),
    Column("take_off", "take off time", "离地时间", ("When did {f} take off?",), ("{f}何时离地？",)),
    Column("flight_state", "flight state", "航班状态", ("What is the status of {f}?",), ("{f}现在是什么状态？",)),
    Column("flight_nature", "flight nature", "航班性质", ("What kind of flight is {f}?",), ("{f}是什么性质的航班？",)),
    Column("mtt", "MTT", "最短过站时间", ("What is the minimum turnaround time of {f}?",), ()),
    Column("mtt_single_leg", "MTT single leg", "单程最短停留时间"),
    Column("eu_indicator", "EU indicator", "欧盟标识"),
    Column("safe_town_airport", "safe town airport", "安全机场标识"),
    Column("modified", "modified time", "更新时间", ("When was {f} last updated?",), ("{f}的最后更新时间是什么？",)),
)
"""All but the flight number, which is how flights are named in the questions."""

FRAMES_EN = (
    "What is the {c} of {f}?",
    "Tell me the {c} of {f}.",
    "Could you tell me the {c} of {f}, please?",
    "I need the {c} for {f}.",
    "{f}: what is the {c}?",
    "Give me {f}'s {c}.",
)
FRAMES_ZH = (
    "{f}的{c}是什么？",
    "请问{f}的{c}是什么？",
    "请告诉我{f}的{c}。",
    "查一下{f}的{c}。",
)
