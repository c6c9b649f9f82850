"""Who flies where, with which aircraft and how often: the invented network of the example week.

Airlines and airports are real; frequencies, clock times and flight numbers are invented.
"""

from __future__ import annotations

from dataclasses import dataclass

# Minimum turnaround and minimum single-leg minutes by aircraft category. Categories are
# size classes by wingspan: 3 below 29 m, 4 below 36 m, 5 below 44 m, 6 below 52 m,
# 7 below 61 m, 8 below 65 m, 9 from 65 m.
TURNAROUND_MINUTES = {"3": 35, "4": 40, "5": 60, "6": 70, "7": 80, "8": 90, "9": 120}
SINGLE_LEG_MINUTES = {"3": 20, "4": 25, "5": 30, "6": 40, "7": 45, "8": 50, "9": 60}

PASSENGER = "J"
CHARTER = "C"
CARGO = "F"


@dataclass(frozen=True, slots=True)
class Route:
    """One airline's service between Amsterdam and one airport."""

    airline: str
    airport: str
    category: str
    first_number: int
    clocks: tuple[str, ...]
    weekdays: str = "1234567"
    nature: str = PASSENGER
    based: bool = False
    stays_overnight: bool = False


# Routes of airlines whose aircraft live in Amsterdam:
# "AIRPORT category first-flight-number clock,clock,..." with clocks of departure.
BASED = {
    "KL": """
LHR 4 1001 07:15,10:10,14:25,18:20 | LCY 3 983 07:10,17:05
MAN 4 1069 09:45,20:55 | BHX 3 1421 07:05,16:50
BRS 3 1047 07:20,20:45 | EDI 4 1275 12:10,20:35
GLA 3 1473 09:50,20:50 | NCL 3 953 07:25,20:40 | ABZ 3 1441 07:35,20:30
DUB 4 933 09:35,20:30 | ORK 3 1085 12:30
CDG 4 1223 07:00,12:40,17:10 | NCE 4 1255 12:15,20:45
LYS 3 1413 07:15,20:30 | TLS 4 1301 07:30,20:35 | BOD 3 1315 16:45
MRS 3 1459 14:25 | FRA 4 1763 09:50,20:50 | MUC 4 1791 12:20,20:45
BER 4 1821 07:00,12:45,20:40 | HAM 3 1775 07:20,16:55
DUS 3 1853 07:35,20:35 | STR 3 1867 07:25,20:40 | HAJ 3 1901 20:45
NUE 3 1883 16:50 | BRE 3 1755 20:55 | ZRH 4 1951 12:25,20:50
GVA 4 1925 12:05,20:35 | BSL 3 1985 17:05 | VIE 4 1837 07:10,20:45
BRU 3 1719 09:30,20:50 | LUX 3 1733 09:35,20:45
CPH 4 1123 09:45,20:55 | BLL 3 1289 07:30,20:45 | AAL 3 1327 20:40
OSL 4 1141 09:50,20:40 | BGO 3 1185 20:35 | SVG 3 1197 14:40
TRD 3 1173 16:30 | ARN 4 1105 09:55,20:30 | GOT 3 1151 07:25,20:50
HEL 4 1163 09:35 | WAW 4 1361 07:10,20:40 | KRK 3 1995 09:45 | GDN 3 1969 12:20
PRG 4 1351 07:20,20:45 | BUD 4 1975 07:35 | OTP 4 1375 09:50
FCO 4 1597 07:00,17:05 | LIN 3 1617 07:05,20:40 | VCE 4 1651 09:35
BLQ 3 1583 14:45 | FLR 3 1639 09:45 | MAD 4 1699 07:10,20:30
BCN 4 1665 12:15,20:35 | AGP 4 1041 09:40 | BIO 3 1683 12:25 | LIS 4 1691 07:25
OPO 3 1711 12:30 | ATH 4 1571 09:30 | IST 4 1613 12:40 | ZAG 3 1941 09:55
JFK 7 641 10:05,13:20,17:15 | BOS 7 617 16:40 | IAD 7 651 12:35 | ATL 7 621 13:50 | ORD 7 611 12:45
MSP 7 655 15:10 | IAH 8 661 10:15 | LAX 8 601 09:55 | SFO 8 605 09:50 | YYZ 7 691 15:20
YUL 7 671 14:55 | YVR 8 681 15:30 | MEX 8 685 14:35 | PTY 7 757 14:25 | BOG 7 745 10:25
LIM 8 743 12:30 | GRU 8 791 10:10 | EZE 8 701 21:15 | CUR 7 735 10:45 | PBM 7 713 10:35
AUA 7 787 11:05 | DXB 7 427 14:50 | DEL 8 871 12:10 | BOM 7 877 10:30 | BLR 7 879 10:20
BKK 8 803 17:05 | SIN 8 835 20:55 | KUL 7 809 20:40 | HKG 8 819 14:45 | PVG 8 895 17:25
NRT 8 861 14:30 | KIX 7 867 14:15 | ICN 8 855 21:05 | NBO 7 565 10:40 | JRO 7 569 10:00
EBB 7 535 10:55 | ACC 7 589 14:20 | LOS 7 587 11:15 | CPT 8 597 09:45 | JNB 8 591 10:00
""",
    "HV": """
AGP 4 6113 06:40 | ALC 4 5131 06:50 | VLC 4 5157 07:15 | SVQ 4 6645 12:55
BCN 4 5137 07:35 | PMI 4 5633 13:40 | LPA 4 5665 06:30 | TFS 4 5667 07:05
ACE 4 5673 08:10 | FUE 4 5671 06:45 | FAO 4 5953 06:55 | LIS 4 5951 12:20 | FNC 4 6629 07:50
NAP 4 6451 06:35 | CTA 4 5509 13:25 | ATH 4 6875 14:05 | RAK 4 5757 07:25 | HRG 4 6881 08:30
LCA 4 6707 13:30 | NCE 4 5405 18:25 | GVA 4 5813 06:45 | BER 4 5941 18:35
""",
    "OR": """
TFS 4 1611 06:20 | LPA 4 1613 06:35 | AYT 4 1635 13:45 | HRG 4 1643 07:45 | CUR 7 361 11:25
AUA 7 363 12:05
""",
    "CD": "LPA 4 211 06:10 | AYT 4 713 14:50 | HRG 4 741 05:55",
    "MP": "NBO 8 8361 03:30 | MIA 8 6801 22:50 | GRU 8 6871 04:15",
}
CHARTERS = frozenset({("OR", "AYT"), ("OR", "HRG"), ("CD", "LPA"), ("CD", "AYT"), ("CD", "HRG")})

# Routes of visiting airlines, written alike, with clocks of arrival. "+" after a clock: the
# aircraft stays overnight and leaves in the morning; "@135": only on Monday, Wednesday, Friday.
VISITING = {
    "U2": """
LGW 4 8871 12:40,20:30 | LTN 4 2157 08:40 | MAN 4 2153 09:15
EDI 4 6921 10:30 | BRS 4 6159 08:55 | MXP 4 2719 10:10 | GVA 4 1353 09:50
BSL 4 1371 11:20 | BER 4 4573 08:20 | NCE 4 1757 13:30 | LIS 4 7607 14:20
MAD 4 7935 15:40 | CDG 4 3967 09:35 | BOD 4 4313 12:10
""",
    "BA": "LHR 4 426 08:35,12:50,17:35,21:40+ | LCY 3 8451 08:50,18:40",
    "EI": "DUB 4 602 09:05,20:40",
    "AF": "CDG 4 1240 08:25,14:55,21:55+",
    "LH": "FRA 4 986 08:15,14:00,19:55 | MUC 4 2300 12:25,20:20",
    "LX": "ZRH 4 724 13:15,22:00+ | GVA 3 790 11:45",
    "OS": "VIE 4 371 09:10,21:25+",
    "VY": "BCN 4 8300 09:30,20:05 | AGP 4 6204 12:35 | ALC 4 1308 14:45 | FCO 4 6230 19:10",
    "IB": "MAD 4 3720 10:50,21:10+",
    "TP": "LIS 4 662 11:05,22:20+ | OPO 4 648 12:55",
    "AZ": "LIN 4 108 09:40 | FCO 4 1120 10:40",
    "SK": "CPH 4 549 08:10,19:00 | ARN 4 1553 09:25 | OSL 4 821 11:30",
    "AY": "HEL 4 1301 09:00,21:45+",
    "LO": "WAW 4 265 09:20",
    "BT": "RIX 4 617 09:45 | TLL 4 851 11:40@1357 | VNO 4 603 13:25",
    "JU": "BEG 4 360 09:55",
    "RO": "OTP 4 361 12:05",
    "OU": "ZAG 3 450 20:55+",
    "A3": "ATH 4 620 12:00 | SKG 4 514 13:45@246",
    "FI": "KEF 5 500 12:10,18:20",
    "TK": "IST 7 1951 10:55,15:50,20:15 | IST 4 1957 13:20",
    "PC": "SAW 4 1251 10:15",
    "XQ": "ADB 4 974 12:20 | AYT 4 968 15:00@246",
    "LY": "TLV 4 337 09:50@12457",
    "RJ": "AMM 4 153 14:10@246",
    "MS": "CAI 4 757 13:40",
    "AT": "CMN 4 850 12:45 | TNG 4 910 14:30@357 | NDR 4 916 11:55@26",
    "KQ": "NBO 7 116 06:25",
    "EK": "DXB 9 147 12:30,19:50",
    "EY": "AUH 7 77 07:05",
    "QR": "DOH 8 273 06:55,13:50",
    "SV": "RUH 7 215 10:35@1357 | JED 7 217 11:35@246",
    "DL": """
JFK 7 46 06:40,10:05 | BOS 7 258 06:15 | ATL 7 72 07:20,10:50 | DTW 7 132 06:05,11:15
MSP 7 160 06:50,12:05 | SEA 7 142 08:15 | PHL 6 112 07:40@12345
""",
    "UA": "EWR 6 70 07:30,09:40 | IAD 6 946 07:45 | ORD 7 908 08:25 | IAH 8 20 09:20 | SFO 8 968 11:00",
    "AA": "PHL 7 202 08:55",
    "B6": "JFK 4 31 09:30 | BOS 4 77 07:50",
    "AC": "YYZ 7 824 08:05 | YUL 7 832 07:35@1357",
    "PY": "PBM 7 993 11:10@1357",
    "AI": "DEL 7 155 17:50@1246",
    "SQ": "SIN 8 324 08:00 | SIN 9 7343 03:40@246#F",
    "GA": "CGK 8 88 08:45@1356",
    "CX": "HKG 8 271 06:30 | HKG 9 2061 02:50@1357#F",
    "CZ": "PEK 8 345 06:35@257 | CAN 8 307 05:50 | CAN 8 453 23:30@135#F",
    "MU": "PVG 8 771 18:30",
    "MF": "XMN 7 811 06:20@1357",
    "CI": "TPE 8 73 19:30@12456 | TPE 8 5621 04:30@2467#F",
    "BR": "TPE 8 75 19:25@1357",
    "KE": "ICN 8 925 18:15@1246 | ICN 9 529 01:55@257#F",
}


def routes() -> list[Route]:
    """Return every route of the example week, based airlines first."""
    found = [route for code, text in BASED.items() for route in _routes(code, text, based=True)]
    for code, text in VISITING.items():
        found.extend(_routes(code, text, based=False))
    return found


def _routes(code: str, text: str, *, based: bool) -> list[Route]:
    entries = text.replace("\n", " | ").split(" | ")
    return [r for entry in entries if entry.strip() for r in _parse(code, entry.split(), based=based)]


def _parse(code: str, words: list[str], *, based: bool) -> list[Route]:
    """Return the routes of one entry: overnight clocks become a route of their own."""
    airport, category, number, times = words
    times, _, nature = times.partition("#")
    times, _, weekdays = times.partition("@")
    result = []
    first = int(number)
    for overnight in (False, True):
        clocks = tuple(t.rstrip("+") for t in times.split(",") if t.endswith("+") == overnight)
        if not clocks:
            continue
        result.append(
            Route(
                airline=code,
                airport=airport,
                category=category,
                first_number=first,
                clocks=clocks,
                weekdays=weekdays or "1234567",
                nature=nature or _nature(code, airport),
                based=based,
                stays_overnight=overnight,
            )
        )
        first += 2 * len(clocks)
    return result


def _nature(code: str, airport: str) -> str:
    if code == "MP":
        return CARGO
    return CHARTER if (code, airport) in CHARTERS else PASSENGER
