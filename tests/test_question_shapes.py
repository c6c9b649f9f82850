"""The shapes of questions that the built-in translator understands, each on graphs that have nothing in common."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from asked import Asked
from pyoxigraph import NamedNode

from kgplatform.store import Store
from kgplatform.types import Verdict

PREFIXES = """
@prefix : <http://x/> . @prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
"""
STAGE = f"""{PREFIXES}
o:Company a owl:Class ; rdfs:label "company"@en, "剧团"@zh ; rdfs:comment "A theatre company. Also called a troupe."@en .
o:Play a owl:Class ; rdfs:label "play"@en, "戏剧"@zh .
o:Actor a owl:Class ; rdfs:label "actor"@en, "演员"@zh .
o:Hall a owl:Class ; rdfs:label "hall"@en, "剧场"@zh .
o:Genre a owl:Class ; rdfs:label "genre"@en, "剧种"@zh .
o:stagedBy a owl:ObjectProperty ; rdfs:label "staged by"@en, "出品方"@zh .
o:shownIn a owl:ObjectProperty ; rdfs:label "shown in"@en, "上演于"@zh .
o:hasGenre a owl:ObjectProperty ; rdfs:label "has genre"@en, "类型"@zh .
o:cast a owl:ObjectProperty ; rdfs:label "cast"@en, "主演"@zh .
o:belongsTo a owl:ObjectProperty ; rdfs:label "belongs to"@en, "所属剧团"@zh .
o:grant a owl:DatatypeProperty ; rdfs:label "grant"@en, "拨款"@zh .
o:season a owl:DatatypeProperty ; rdfs:label "season"@en, "演出季"@zh .
o:wage a owl:DatatypeProperty ; rdfs:label "wage"@en, "工资"@zh .
o:seats a owl:DatatypeProperty ; rdfs:label "seats"@en, "座位数"@zh ; rdfs:comment "Seats in the hall (capacity)."@en .
o:fee a owl:DatatypeProperty ; rdfs:label "ticket fee"@en, "票价"@zh ; rdfs:comment "What a ticket costs; 0 means free (免费)."@en .
:c1 a o:Company ; rdfs:label "Moss Lane Players"@en, "苔巷剧团"@zh ; o:grant 100 .
:c2 a o:Company ; rdfs:label "Harbour Masks"@en, "港面剧团"@zh ; o:grant 300 .
:c3 a o:Company ; rdfs:label "Exp. Scen."@en, "试景剧团"@zh ; o:grant 200 .
:g1 a o:Genre ; rdfs:label "Farce"@en, "闹剧"@zh . :g2 a o:Genre ; rdfs:label "Tragedy"@en, "悲剧"@zh .
:h1 a o:Hall ; rdfs:label "Copper Hall"@en, "铜厅"@zh ; o:seats 80 . :h2 a o:Hall ; rdfs:label "Lantern House"@en, "灯笼剧场"@zh ; o:seats 250 .
:p1 a o:Play ; rdfs:label "Two Umbrellas"@en, "两把伞"@zh ; o:stagedBy :c1 ; o:shownIn :h1 ; o:hasGenre :g1 ; o:season "spring" ; o:fee 0 ; o:cast :a1, :a2 .
:p2 a o:Play ; rdfs:label "The Ferryman's Coat"@en, "船夫的外套"@zh ; o:stagedBy :c1 ; o:shownIn :h2 ; o:hasGenre :g2 ; o:season "spring" ; o:fee 30 ; o:cast :a2 .
:p3 a o:Play ; rdfs:label "Salt"@en, "盐"@zh ; o:stagedBy :c2 ; o:shownIn :h2 ; o:hasGenre :g2 ; o:season "autumn" ; o:fee 45 ; o:cast :a3 .
:p4 a o:Play ; rdfs:label "Low Tide"@en, "低潮"@zh ; o:stagedBy :c1 ; o:shownIn :h1 ; o:hasGenre :g1 ; o:season "autumn" ; o:fee 15 ; o:cast :a1 .
:p5 a o:Play ; rdfs:label "Salt"@en ; o:stagedBy :c1 ; o:shownIn :h1 ; o:hasGenre :g2 ; o:season "autumn" ; o:fee 20 .
:a1 a o:Actor ; rdfs:label "Ines Kolb"@en, "伊内丝"@zh ; o:wage 20 ; o:belongsTo :c1 . :a2 a o:Actor ; rdfs:label "Tomas Reyl"@en, "托马斯"@zh ; o:wage 35 ; o:belongsTo :c1 .
:a3 a o:Actor ; rdfs:label "Wen Hart"@en, "文哈特"@zh ; o:wage 50 ; o:belongsTo :c2 . :a4 a o:Actor ; rdfs:label "Olu Brandt"@en, "奥卢"@zh ; o:wage 28 ; o:belongsTo :c2 .
"""
FERRIES = f"""{PREFIXES}
o:Line a owl:Class ; rdfs:label "shipping line"@en, "航运公司"@zh . o:Pier a owl:Class ; rdfs:label "pier"@en, "码头"@zh .
o:Sailing a owl:Class ; rdfs:label "sailing"@en, "航次"@zh ; rdfs:comment "One trip over the water. Also called a crossing."@en .
o:Vessel a owl:Class ; rdfs:label "Roll-on Roll-off vessel (RORO)"@en . o:VesselType a owl:Class ; rdfs:label "vessel type"@en .
o:Tariff a owl:Class ; rdfs:label "tariff"@en .
o:runBy a owl:ObjectProperty ; rdfs:label "run by"@en, "运营方"@zh . o:leaves a owl:ObjectProperty ; rdfs:label "departs from"@en, "出发码头"@zh .
o:reaches a owl:ObjectProperty ; rdfs:label "arrives at"@en, "到达码头"@zh . o:vesselType a owl:ObjectProperty ; rdfs:label "vessel type"@en .
o:ownedBy a owl:ObjectProperty ; rdfs:label "owned by"@en . o:hasTariff a owl:ObjectProperty ; rdfs:label "price"@en .
o:sum a owl:DatatypeProperty ; rdfs:label "sum"@en . o:code a owl:DatatypeProperty ; rdfs:label "pier code"@en, "码头代码"@zh .
o:nation a owl:DatatypeProperty ; rdfs:label "home country"@en . o:length a owl:DatatypeProperty ; rdfs:label "length"@en .
o:fleet a owl:DatatypeProperty ; rdfs:label "fleet size"@en, "船队规模"@zh .
:l1 a o:Line ; rdfs:label "Skerry Lines"@en, "礁石航运"@zh ; o:nation "Norway" ; o:fleet 4 . :l2 a o:Line ; rdfs:label "Amber Way"@en, "琥珀航运"@zh ; o:nation "Poland" ; o:fleet 9 .
:l3 a o:Line ; rdfs:label "Idle Keels"@en, "闲舟航运"@zh ; o:nation "Poland" ; o:fleet 2 . :us a o:Region ; rdfs:label "USA" ; o:lighthouses 680 .
o:Region a owl:Class ; rdfs:label "region"@en . o:lighthouses a owl:DatatypeProperty ; rdfs:label "number of lighthouses"@en .
:n a o:Pier ; rdfs:label "North Pier"@en, "北码头"@zh ; o:code "GO" . :s a o:Pier ; rdfs:label "South Pier"@en, "南码头"@zh ; o:code "SPX" . :e a o:Pier ; rdfs:label "East Pier"@en, "东码头"@zh ; o:code "EPX" .
:t1 a o:Sailing ; o:runBy :l1 ; o:leaves :n ; o:reaches :s ; rdfs:label "S1" . :t2 a o:Sailing ; o:runBy :l1 ; o:leaves :s ; o:reaches :n ; rdfs:label "S2" .
:t3 a o:Sailing ; o:runBy :l1 ; o:leaves :n ; o:reaches :e ; rdfs:label "S3" . :t4 a o:Sailing ; o:runBy :l2 ; o:leaves :s ; o:reaches :e ; rdfs:label "S4" .
:k1 a o:VesselType ; rdfs:label "Catamaran" . :k2 a o:VesselType ; rdfs:label "Hovercraft" .
:v1 a o:Vessel ; rdfs:label "Petrel" ; o:vesselType :k1 ; o:ownedBy :l1 ; o:length 40 ; o:hasTariff :f1 . :v2 a o:Vessel ; rdfs:label "Gannet" ; o:vesselType :k1 ; o:ownedBy :l2 ; o:length 55 ; o:hasTariff :f2 .
:v3 a o:Vessel ; rdfs:label "Auk" ; o:vesselType :k2 ; o:ownedBy :l2 ; o:length 30 ; o:hasTariff :f3 .
:f1 a o:Tariff ; o:sum 70 . :f2 a o:Tariff ; o:sum 60 . :f3 a o:Tariff ; o:sum 20 .
"""


class Small(Asked):
    """A small graph to ask."""

    def rows(self, text: str) -> set[tuple[str, ...]]:
        """The rows of the answer, things by their names."""
        answer = self(text)
        assert answer.solutions is not None, answer.text
        language = answer.question.language
        return {tuple(self.shown(term, language) for term in row if term is not None) for row in answer.solutions.rows}


@pytest.fixture(scope="module")
def stage() -> Small:
    return Small(STAGE)


@pytest.fixture(scope="module")
def ferries() -> Small:
    return Small(FERRIES)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        (
            "What are the name and grant of each company?",
            {("Moss Lane Players", "100"), ("Harbour Masks", "300"), ("Exp. Scen.", "200")},
        ),
        ("List the title, season and ticket fee of plays staged by Harbour Masks.", {("Salt", "autumn", "45")}),
        (
            "Find the title and company name of plays shown in Lantern House.",
            {("The Ferryman's Coat", "Moss Lane Players"), ("Salt", "Harbour Masks")},
        ),
        ("Which season and hall is Low Tide in?", {("autumn", "Copper Hall")}),
        ("低潮的演出季和票价是什么？", {("autumn", "15")}),
    ],
)
def test_what_is_listed_side_by_side_becomes_columns(stage: Small, question: str, rows: set[tuple[str, ...]]) -> None:
    assert stage.rows(question) == rows


def test_columns_may_be_of_things_some_way_off(ferries: Small) -> None:
    rows = ferries.rows("Find the name and home country of the shipping lines that own a Hovercraft.")
    assert rows == {("Amber Way", "Poland")}


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("How many plays are there for each company?", {("Moss Lane Players", "4"), ("Harbour Masks", "1")}),
        (
            "Find the number of plays shown in each season and hall.",
            {
                ("spring", "Copper Hall", "1"),
                ("spring", "Lantern House", "1"),
                ("autumn", "Lantern House", "1"),
                ("autumn", "Copper Hall", "2"),
            },
        ),
        ("What is the average wage of actors per company?", {("Moss Lane Players", "27.5"), ("Harbour Masks", "39")}),
        (
            "What are the minimum and maximum wage of actors in each company?",
            {("Moss Lane Players", "20", "35"), ("Harbour Masks", "28", "50")},
        ),
        (
            "Which companies have more than 1 play? I need their names and the number of plays.",
            {("Moss Lane Players", "4")},
        ),
        ("List the companies which have at least two actors.", {("Moss Lane Players",), ("Harbour Masks",)}),
    ],
)
def test_each_and_per_group(stage: Small, question: str, rows: set[tuple[str, ...]]) -> None:
    assert stage.rows(question) == rows


def test_numbers_per_group_of_another_graph(ferries: Small) -> None:
    assert ferries.rows("How many sailings are there per shipping line?") == {("Skerry Lines", "3"), ("Amber Way", "1")}
    assert ferries.rows("Which shipping lines have more than two sailings?") == {("Skerry Lines",)}
    assert ferries.rows("What is the minimum and average length of vessels of each shipping line?") == {
        ("Skerry Lines", "40", "40"),
        ("Amber Way", "30", "42.5"),
    }


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which companies have a grant above the average?", {"Harbour Masks"}),
        ("Which companies have a grant greater than the average grant?", {"Harbour Masks"}),
        ("Which companies have a larger grant than Moss Lane Players?", {"Harbour Masks", "Exp. Scen."}),
        (
            "Find the names of actors whose wage is greater than the wage of all actors of Moss Lane Players.",
            {"Wen Hart"},
        ),
        ("Find the names of actors who earn more than some actor of Harbour Masks.", {"Tomas Reyl", "Wen Hart"}),
        ("Which halls have fewer seats than Lantern House?", {"Copper Hall"}),
        ("哪些剧团的拨款高于平均拨款？", {"港面剧团"}),
        ("工资比托马斯高的演员有哪些？", {"文哈特"}),
    ],
)
def test_comparison_with_what_must_be_looked_up(stage: Small, question: str, values: set[str]) -> None:
    assert set(stage(question).values) == values


def test_comparison_on_another_graph(ferries: Small) -> None:
    assert set(ferries("Which vessels are longer than Petrel?").values) == {"Gannet"}
    assert set(ferries("Which shipping lines have a fleet size above the average?").values) == {"Amber Way"}
    assert set(ferries("哪些航运公司的船队规模比礁石航运大？").values) == {"琥珀航运"}


def test_most_and_least_within_each_group(stage: Small, ferries: Small) -> None:
    assert stage.rows("Who is the actor with the highest wage in each company?") == {
        ("Moss Lane Players", "Tomas Reyl"),
        ("Harbour Masks", "Wen Hart"),
    }
    assert ferries.rows("What is the longest vessel of each shipping line?") == {
        ("Skerry Lines", "Petrel"),
        ("Amber Way", "Gannet"),
    }


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which company has staged the largest number of plays?", {"Moss Lane Players"}),
        ("Which hall shows the most plays?", {"Copper Hall"}),
        ("What is the grant of the company with the most plays?", {"100"}),
        ("哪个剧场上演的戏剧最多？", {"铜厅"}),
    ],
)
def test_most_in_number(stage: Small, question: str, values: set[str]) -> None:
    assert set(stage(question).values) == values


def test_the_order_of_rows_is_no_condition(stage: Small, ferries: Small) -> None:
    assert set(stage("List the halls sorted by the number of seats.").values) == {"Copper Hall", "Lantern House"}
    assert set(ferries("Which shipping lines are there, in alphabetical order?").values) == {
        "Skerry Lines",
        "Amber Way",
        "Idle Keels",
    }


def test_both_asks_for_each(stage: Small, ferries: Small) -> None:
    assert set(stage("Which plays have both Ines Kolb and Tomas Reyl in the cast?").values) == {"Two Umbrellas"}
    assert set(ferries("Which shipping lines have sailings to both South Pier and East Pier?").values) == {
        "Skerry Lines"
    }


def test_a_title_may_belong_to_several_things(stage: Small) -> None:
    assert set(
        stage("What is the title of the play that is staged by both Moss Lane Players and Harbour Masks?").values
    ) == {"Salt"}


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which actors are not in the cast of any play?", {"Olu Brandt"}),
        ("Which companies haven't staged any plays?", {"Exp. Scen."}),
        ("Find the names of companies without actors.", {"Exp. Scen."}),
        ("哪些剧团没有演员？", {"试景剧团"}),
    ],
)
def test_negation(stage: Small, question: str, values: set[str]) -> None:
    assert set(stage(question).values) == values


def test_negation_on_another_graph(ferries: Small) -> None:
    assert set(ferries("Which shipping lines don't have any sailings?").values) == {"Idle Keels"}
    assert set(ferries("哪些航运公司没有航次？").values) == {"闲舟航运"}


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How many sailings are there from North Pier?", {"2"}),
        ("How many sailings go to North Pier?", {"1"}),
        ("Which shipping lines have sailings from South Pier to East Pier?", {"Amber Way"}),
        ("How many crossings are there from SPX to EPX?", {"1"}),
        ("从北码头出发的航次有多少？", {"2"}),
        ("从南码头到东码头的航次有多少？", {"1"}),
    ],
)
def test_from_and_to_tell_the_direction(ferries: Small, question: str, values: set[str]) -> None:
    assert set(ferries(question).values) == values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("How many Catamarans are there?", {"2"}),
        ("What is the cheapest Catamaran?", {"Gannet"}),
        ("Which Hovercraft is the longest?", {"Auk"}),
        ("Which shipping lines are polish?", {"Amber Way", "Idle Keels"}),
        ("How many ROROs are there?", {"3"}),
        ("Which shipping lines are Norwegian?", {"Skerry Lines"}),
    ],
)
def test_kinds_adjectives_and_acronyms_name_things(ferries: Small, question: str, values: set[str]) -> None:
    assert set(ferries(question).values) == values


def test_farces_are_plays_of_that_genre(stage: Small) -> None:
    assert set(stage("Which farces are shown in Copper Hall?").values) == {"Two Umbrellas", "Low Tide"}


def test_a_word_in_small_letters_is_no_code(ferries: Small) -> None:
    assert set(ferries("Which sailings go to East Pier?").values) == {"S3", "S4"}
    assert set(ferries("What pier has the pier code GO?").values) == {"North Pier"}


def test_countries_are_known_by_their_other_names(ferries: Small) -> None:
    assert set(ferries("How many lighthouses are there in the United States?").values) == {"680"}


def test_names_said_in_full_are_found_abbreviated(stage: Small) -> None:
    assert set(stage("What is the grant of Experimental Scenery?").values) == {"200"}


def test_comments_name_what_a_term_is_also_called(stage: Small) -> None:
    assert set(stage("Which troupes are there?").values) == {"Moss Lane Players", "Harbour Masks", "Exp. Scen."}
    assert set(stage("What is the capacity of Copper Hall?").values) == {"80"}


def test_a_comment_says_what_a_number_means(stage: Small) -> None:
    assert set(stage("Which free plays are there?").values) == {"Two Umbrellas"}
    assert set(stage("有哪些免费的戏剧？").values) == {"两把伞"}


def test_is_there_in_chinese_asks_what_there_is(stage: Small) -> None:
    assert set(stage("铜厅有上演的戏剧吗？").values) >= {"两把伞", "低潮"}
    answer = stage("低潮上演于铜厅吗？")
    assert answer.values == ("是",)


def test_co_actors_share_a_play(stage: Small) -> None:
    assert set(stage("Who are the co-actors of Ines Kolb?").values) == {"Tomas Reyl"}
    assert set(stage("Which has more plays, Copper Hall or Lantern House?").values) == {"Copper Hall"}


def test_fellows_share_something(stage: Small) -> None:
    answer = stage("Which actors collaborated with Ines Kolb?")
    assert answer.verdict is Verdict.ANSWERED
    assert "Tomas Reyl" in answer.values
    assert "Ines Kolb" not in answer.values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("座位数不低于80的剧场有哪些？", {"铜厅", "灯笼剧场"}),
        ("座位数不超过80的剧场有哪些？", {"铜厅"}),
        ("座位数高于80的剧场有哪些？", {"灯笼剧场"}),
    ],
)
def test_not_less_includes_the_bound(stage: Small, question: str, values: set[str]) -> None:
    assert set(stage(question).values) == values


def test_every_query_written_can_be_parsed_and_read_aloud(stage: Small) -> None:
    for question in ("Which companies have a grant above the average?", "What are the name and grant of each company?"):
        answer = stage(question)
        assert answer.query is not None
        assert answer.query.reading
        Store.open().query(answer.query.text)
    assert NamedNode("http://x/o#grant") in stage.known.schema.properties


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which companies have an average wage greater than 30?", {"Harbour Masks"}),
        ("Which company has the highest average wage?", {"Harbour Masks"}),
        ("What is the most common season of plays?", {"autumn"}),
        ("How many different seasons are there?", {"2"}),
        ("Which season has the most Moss Lane Players plays?", {"autumn", "spring"}),
        ("How much does Wen Hart earn?", {"50"}),
        ("Who earns the least?", {"Ines Kolb"}),
        ("既有伊内丝又有托马斯主演的戏剧是哪部？", {"两把伞"}),
        ("每个剧团的平均工资是多少？", {"港面剧团", "39", "苔巷剧团", "27.5"}),
        ("Who has the second highest wage?", {"Tomas Reyl"}),
        ("工资第二高的演员是谁？", {"托马斯"}),
        ("Which has more seats, Copper Hall or Lantern House?", {"Lantern House"}),
        ("铜厅和灯笼剧场哪个座位数多？", {"灯笼剧场"}),
        ("What is the total grant of Moss Lane Players or Harbour Masks?", {"400"}),
        ("How many plays are not shown in Copper Hall?", {"2"}),
        ("Is the grant of Harbour Masks larger than the grant of Moss Lane Players?", {"Yes"}),
        ("Does Copper Hall have more seats than Lantern House?", {"No"}),
    ],
)
def test_sums_ranks_and_choices(stage: Small, question: str, values: set[str]) -> None:
    assert set(stage(question).values) == values


def test_sums_ranks_and_choices_on_another_graph(ferries: Small) -> None:
    assert set(ferries("Which shipping line has the highest average length of vessels?").values) == {"Amber Way"}
    assert set(ferries("Which shipping lines have an average length of vessels below 41?").values) == {"Skerry Lines"}
    assert set(ferries("What is the second longest vessel?").values) == {"Petrel"}
    assert set(ferries("Which is longer, Petrel or Gannet?").values) == {"Gannet"}


def test_but_not_rules_out_any_other(stage: Small, ferries: Small) -> None:
    assert not stage("Which companies staged plays in the spring but not in the autumn?").values
    assert set(stage("Which companies staged plays in the autumn but not in the spring?").values) == {"Harbour Masks"}
    owners = ferries("Which shipping lines own a Catamaran but not a Hovercraft?")
    assert set(owners.values) == {"Skerry Lines"}


def test_things_may_be_listed_with_theirs(stage: Small) -> None:
    assert ("Low Tide", "Copper Hall") in stage.rows("List all plays with their halls.")


def test_the_most_of_the_most_is_looked_for_among_it_only(stage: Small, ferries: Small) -> None:
    assert set(stage("Who is the actor with the lowest wage in the company with the highest grant?").values) == {
        "Olu Brandt"
    }
    assert set(ferries("What is the shortest vessel of the shipping line with the largest fleet size?").values) == {
        "Auk"
    }


def test_where_asks_for_the_place_of_what_is_picked() -> None:
    hills = Asked(
        f"""{PREFIXES}
o:Hill a owl:Class ; rdfs:label "hill"@en ; rdfs:comment "A hill. The biggest hill is meant by height unless its area is named."@en .
o:Parish a owl:Class ; rdfs:label "parish"@en . o:liesIn a owl:ObjectProperty ; rdfs:label "lies in"@en .
o:height a owl:DatatypeProperty ; rdfs:label "height"@en . o:area a owl:DatatypeProperty ; rdfs:label "area"@en .
o:highestTower a owl:DatatypeProperty ; rdfs:label "highest tower"@en . o:shire a owl:ObjectProperty ; rdfs:label "in shire"@en .
o:Shire a owl:Class ; rdfs:label "shire"@en . :e a o:Shire ; rdfs:label "Emmet" .
:p a o:Parish ; rdfs:label "Thorn" ; o:highestTower 30 ; o:shire :e . :q a o:Parish ; rdfs:label "Wick" ; o:highestTower 45 ; o:shire :e .
:h a o:Hill ; rdfs:label "Grey Top" ; o:liesIn :p ; o:height 300 ; o:area 1 . :i a o:Hill ; rdfs:label "Long Rise" ; o:liesIn :q ; o:height 200 ; o:area 9 .
"""
    )
    assert set(hills("Where is the tallest hill?").values) == {"Thorn"}
    assert set(hills("What is the biggest hill?").values) == {"Grey Top"}
    assert set(hills("What is the highest tower in Emmet?").values) == {"45"}
