import json
import math

import pandas as pd
import pytest

from farm.errors import DataError
from farm.judging import judge
from farm.store.logs import CONDITION, read_log
from farm.store.readouts import Readouts
from tests.wording import refused


@pytest.fixture
def log(tmp_path):
    """Write a log and read it."""

    def write(content, name="camera-3.csv"):
        path = tmp_path / name
        path.write_text(content)
        return read_log(path)

    return write


def is_refused(log, content):
    with refused(DataError) as caught:
        log(content)
    assert "\n" not in str(caught.value)


def test_all_columns(log):
    read = log(
        "id,label,predicted,is_ood,alarm,cancelled,category,faultload,severity,monitor,score,confidence,"
        "label_probability,brier,workload,classifier,monitor_time_us,classifier_time_us\n"
        "a,3,3,0,0,0,,,,odin,0.1,0.9,0.9,0.02,gtsrb,lenet,12,100\n"
        "b,-1,3,1,1,0,novelty,btsc,2.5,odin,0.7,0.8,,,gtsrb,lenet,13,101\n"
    )
    first, second = read.instances.to_dict("records")
    assert (first["label"], first["is_ood"]) == (3, False)
    assert (first["label_probability"], first["brier"]) == (0.9, 0.02)
    assert math.isnan(second.pop("label_probability"))
    assert math.isnan(second.pop("brier"))
    assert all(pd.isna(first[name]) for name in ("category", "faultload", "severity"))
    assert second == {
        "position": 1,
        "id": "b",
        "workload": "gtsrb",
        "track": None,
        "label": -1,
        "predicted": 3,
        "confidence": 0.8,
        "is_ood": True,
        "category": "novelty",
        "faultload": "btsc",
        "severity": 2.5,
        "classifier_time_us": 101.0,
    }
    assert read.alarms.to_dict("records")[1] == {
        "position": 1,
        "id": "b",
        "monitor": "odin",
        "score": 0.7,
        "alarm": True,
        "cancelled": False,
        "decision": 3,
        "monitor_time_us": 13.0,
    }
    assert read.run["workload"] == {"name": "gtsrb"}
    assert read.run["classifier"] == {"name": "lenet"}
    assert read.run["monitors"] == [{"name": "odin"}]
    json.dumps(read.run)


def test_prediction_and_alarm_are_enough(log):
    read = log("predicted,alarm\n0,1\n1,0\n1,0\n")
    assert read.run["workload"] == {"name": "camera-3"}
    records = judge(*read)
    assert [(r["part"], r["monitor"], r["alarm_rate"]) for r in records] == [
        ("all", "monitor", pytest.approx(1 / 3)),
        ("all", "oracle", None),
    ]


def test_judged_like_readouts(log):
    records = judge(*log("label,predicted,is_ood,alarm\n0,0,0,0\n1,0,0,1\n-1,1,1,1\n1,1,1,0\n"))
    mine = records[0]
    assert {name: mine["specific"][name] for name in ("tp", "fp", "tn", "fn")} == {
        "tp": 1,
        "fp": 1,
        "tn": 1,
        "fn": 1,
    }
    assert {name: mine["overall"][name] for name in ("tp", "fp", "tn", "fn")} == {
        "tp": 2,
        "fp": 0,
        "tn": 2,
        "fn": 0,
    }
    assert (mine["faultload"], mine["category"], mine["severity"], mine["n_ood"]) == (None, None, None, 2)


@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("true", "false"), ("True", "False"), ("TRUE", "FALSE")])
def test_booleans(log, yes, no):
    read = log(f"predicted,alarm,is_ood\n0,{yes},{no}\n0,{no},{yes}\n")
    assert read.alarms["alarm"].tolist() == [True, False]
    assert read.instances["is_ood"].tolist() == [False, True]


def test_semicolons_and_decimal_commas(log):
    assert log("predicted;alarm;score\n0;1;0,25\n").alarms["score"].tolist() == [0.25]


def test_class_names_are_coded_jointly(log):
    read = log("label,predicted,alarm\nstop,yield,0\n-1,stop,0\n30 km/h,yield,0\n,yield,0\n")
    assert read.run["classes"] == ["30 km/h", "stop", "yield"]
    assert read.instances["predicted"].tolist() == [2, 1, 2, 2]
    assert read.instances["label"].tolist() == [1, -1, 0, pd.NA]


def test_class_numbers_stay_as_they_are(log):
    read = log("label,predicted,alarm\n3.0,3,0\n-1.0,10,0\n,10,0\n")
    assert read.instances["predicted"].tolist() == [3, 10, 10]
    assert read.instances["label"].tolist() == [3, -1, pd.NA]
    assert read.run["classes"] == []


def test_several_monitors_without_ids_go_by_their_order(log):
    read = log("predicted,alarm,monitor\n0,1,a\n0,0,b\n1,0,a\n1,1,b\n")
    assert read.instances["predicted"].tolist() == [0, 1]
    assert read.alarms[["position", "monitor", "alarm"]].to_numpy().tolist() == [
        [0, "a", True],
        [0, "b", False],
        [1, "a", False],
        [1, "b", True],
    ]


def test_several_monitors_with_ids_go_by_those(log):
    read = log("id,predicted,alarm,monitor\nx,0,1,a\ny,1,0,a\ny,1,1,b\nx,0,0,b\n")
    assert read.instances["id"].tolist() == ["x", "y"]
    assert read.alarms["position"].tolist() == [0, 1, 1, 0]
    assert read.alarms["id"].tolist() == ["x", "y", "y", "x"]
    assert [r["monitor"] for r in judge(*read)] == ["a", "b", "oracle"]


def test_decisions_are_what_was_acted_upon(log):
    content = "label,predicted,alarm,decision\n3,3,0,3\n3,4,1,3\n-1,4,1,-1\n4,5,1,4.0\n"
    read = log(content)
    assert read.alarms["decision"].tolist() == [3, 3, -1, 4]
    (record, _) = judge(*read)
    assert (record["coverage"], record["accepted_accuracy"]) == (0.75, 1.0)
    assert (record["policy"], record["fallback"]) == (None, None)


def test_without_the_column_nothing_takes_a_cancelled_decisions_place(log):
    read = log("predicted,alarm,cancelled\n3,0,0\n4,1,1\n5,1,0\n")
    assert read.alarms["decision"].tolist() == [3, -1, 5]


def test_decisions_are_named_like_classes(log):
    read = log("label,predicted,alarm,decision\nstop,stop,0,stop\nyield,stop,1,give way\nyield,stop,1,-1\n")
    assert read.run["classes"] == ["give way", "stop", "yield"]
    assert read.alarms["decision"].tolist() == [1, 0, -1]


def test_tracks_are_kept_and_some_instances_may_have_none(log):
    read = log("predicted,alarm,track\n0,1,drive-1\n1,0,\n")
    assert read.instances["track"].fillna("none").tolist() == ["drive-1", "none"]


@pytest.mark.parametrize(
    "moments",
    [
        ("20", "3", "10.5"),
        ("2026-11-19T10:00:00Z", "2026-11-18 23:59:59.5", "2026-11-19T11:00:00+02:00"),
        ("2026-03-01", "2025-12-31", "2026-02-28"),
    ],
)
def test_timestamps_order_the_instances(log, moments):
    last, first, middle = moments
    rows = [f"a,5,0,x,{last}", f"b,6,0,x,{first}", f"c,7,1,x,{middle}", f"b,6,1,y,{last}", f"a,5,0,y,{first}"]
    read = log("\n".join(["id,predicted,alarm,monitor,timestamp", *rows, f"c,7,0,y,{middle}", ""]))
    assert read.instances["id"].tolist() == ["b", "c", "a"]
    assert read.instances["position"].tolist() == [0, 1, 2]
    assert read.instances["predicted"].tolist() == [6, 7, 5]
    assert read.alarms["id"].tolist() == ["a", "b", "c", "b", "a", "c"]
    assert read.alarms["position"].tolist() == [2, 0, 1, 0, 2, 1]


def test_a_log_is_a_run_to_load_and_to_save(tmp_path):
    (tmp_path / "drive.csv").write_text("predicted,alarm,track\n0,1,a\n1,0,a\n")
    read = Readouts.load(tmp_path / "drive.csv")
    assert read.run["name"] == "drive"
    again = Readouts.load(read.save(tmp_path / "run"))
    assert judge(again.instances, again.alarms, {}) == judge(read.instances, read.alarms, {})


def test_unknown_columns_are_noted(log):
    assert log("predicted,alarm,weather\n0,1,rain\n").run["log"]["ignored_columns"] == ["weather"]


FOUR = "predicted_box_left,predicted_box_top,predicted_box_right,predicted_box_bottom"


def test_boxes_are_read_with_what_is_missing(log):
    true, spread = FOUR.replace("predicted_", ""), FOUR.replace("predicted_box", "box_spread")
    read = log(
        f"predicted,alarm,{true},box_lost,{FOUR},{spread}\n"
        "0,0,1,2,3,4,,1,2,3,5,1,1,1,2\n0,0,,,,,out of sight,9,9,9,9,1,1,1,1\n"
    )
    first, second = read.instances.to_dict("records")
    assert [first[name] for name in (*true.split(","), *FOUR.split(","))] == [1, 2, 3, 4, 1, 2, 3, 5]
    assert pd.isna(first["box_lost"])
    assert second["box_lost"] == "out of sight"
    assert all(math.isnan(second[name]) for name in true.split(","))
    records = judge(*read)
    why = "no box for 1 of 2 instances (out of sight)"
    assert {record["undefined"]["box_mae"] for record in records} == {why}


def test_a_log_without_boxes_has_no_columns_of_them(log):
    assert not [name for name in log("predicted,alarm\n0,1\n").instances if "box" in name]


@pytest.mark.parametrize(
    "content",
    [
        "predicted\n0\n",
        "prediction,alarm\n0,1\n",
        "predicted,alarm,canceled\n0,1,1\n",
        "predicted,alarm\n0,1\n0,yes\n",
        "predicted,alarm\n0,1\n0,\n",
        "predicted,alarm,cancelled\n0,1,\n",
        "predicted,alarm,is_ood\n0,1,2\n",
        "predicted,alarm,score\n0,1,inf\n",
        "predicted,alarm,severity\n0,1,high\n",
        "predicted,alarm,brier\n0,1,0.5\n0,1,2.5\n",
        "predicted,alarm,label_probability\n0,1,-0.5\n",
        "predicted,alarm,monitor_time_us\n0,1,-3\n",
        f"predicted,alarm,{FOUR}\n0,1,1,2,3,4\n0,1,1,2,x,4\n",
        f"predicted,alarm,{FOUR},{FOUR.replace('predicted_', '')}\n0,1,1,2,3,4,5,2,3,4\n",
        f"predicted,alarm,{FOUR},{FOUR.replace('predicted_', '')}\n0,1,1,2,3,4,-1,2,3,4\n",
        f"predicted,alarm,{FOUR},{FOUR.replace('predicted_', '')}\n0,1,1,2,3,4,,,,\n0,1,1,2,3,4,1,2,,4\n",
        f"predicted,alarm,{FOUR}\n0,1,,2,3,4\n",
        "predicted,alarm,predicted_box_left\n0,1,1\n",
        f"predicted,alarm,{FOUR.replace('predicted_box', 'box_spread')}\n0,1,1,2,3,4\n",
        f"predicted,alarm,{FOUR},{FOUR.replace('predicted_box', 'box_spread')}\n0,1,1,2,3,4,1,1,-1,1\n",
        f"id,predicted,alarm,monitor,{FOUR}\nx,0,1,a,1,2,3,4\nx,0,1,b,1,2,3,5\n",
        "predicted,alarm\n,1\n",
        "predicted,alarm\n0,1\n-1,1\n",
        "label,predicted,alarm\nstop,-1,1\n",
        "label,predicted,alarm\n1.5,1,1\n",
        "label,predicted,alarm\n0,1,1\n-2,1,1\n",
        "label,predicted,alarm\n1e99,1,1\n",
        "label,predicted,alarm\n0,1,1\nstop,1,1\n",
        "label,predicted,alarm\n-1,go,1\n3,go,1\n",
        "predicted,alarm,decision\n0,0,0\n1,0,0\n",
        "predicted,alarm,cancelled,decision\n0,1,0,-1\n",
        "predicted,alarm,decision\n0,1,\n",
        "predicted,alarm,decision\n0,1,0\n0,1,2.5\n",
        "predicted,alarm,decision\n0,1,0\n0,1,-2\n",
        "predicted,alarm,decision\n0,1,0\n0,1,stop\n",
        "predicted,alarm,descision\n0,1,0\n",
        "predicted,alarm,monitor\n0,1,\n",
        "predicted,alarm,monitor\n0,1,oracle\n",
        "id,predicted,alarm\n,0,1\n",
        "id,predicted,alarm\nx,0,1\nx,0,1\n",
        "id,predicted,alarm,monitor\nx,0,1,a\ny,0,1,b\n",
        "predicted,alarm,monitor\n0,1,a\n0,1,a\n0,1,b\n",
        "id,predicted,alarm,monitor\nx,0,1,a\ny,0,1,a\nx,0,1,b\n",
        "label,predicted,alarm,monitor\n1,0,1,a\n2,0,1,b\n",
        "is_ood,predicted,alarm,monitor\n1,0,1,a\n,0,1,b\n",
        "predicted,alarm,monitor\n1,1,a\n0,1,b\n",
        "workload,predicted,alarm\ngtsrb,1,1\nbtsc,1,1\n",
        "predicted,alarm,timestamp\n1,1,5\n1,1,\n",
        "predicted,alarm,timestamp\n1,1,5\n1,1,2026-11-19\n",
        "predicted,alarm,timestamp\n1,1,2026-11-19\n1,1,noon\n",
        "predicted,alarm,monitor,track\n1,1,a,x\n1,1,b,y\n",
        "predicted,alarm,label_chance\n0,1,0.2\n0,1,0\n",
        "id,predicted,alarm,monitor,label_chance\nx,0,1,a,0.5\nx,0,1,b,0.2\n",
    ],
)
def test_mistakes_name_the_line_the_column_the_value_and_what_was_expected(log, content):
    is_refused(log, content)


FLEET = "predicted,alarm,monitor,weather,timestamp\n1,1,a,fog,{}\n1,1,a,,{}\n1,0,b,{},{}\n1,0,b,,{}\n"


@pytest.mark.parametrize("name", ["fleet.csv", "fleet.parquet"])
def test_conditions_that_are_asked_for_and_times_are_kept(tmp_path, name):
    late, early = "2026-11-19T12:00:00+02:00", "2026-11-19T09:30:00Z"
    path = tmp_path / "fleet.csv"
    path.write_text(FLEET.format(late, early, "fog", late, early))
    if name != path.name:
        path = tmp_path / name
        pd.read_csv(tmp_path / "fleet.csv").to_parquet(path)
    assert "weather" in read_log(path).run["log"]["ignored_columns"]
    read = read_log(path, ["weather", "country"])
    assert read.run["log"]["ignored_columns"] == []
    weather = read.instances[CONDITION.format("weather")]
    assert (weather.isna().tolist(), weather.iloc[1]) == ([True, False], "fog")
    assert [str(moment)[:16] for moment in read.instances["timestamp"]] == [
        "2026-11-19 09:30",
        "2026-11-19 10:00",
    ]


def test_monitors_agree_on_a_condition(tmp_path):
    path = tmp_path / "fleet.csv"
    path.write_text(FLEET.format(1, 2, "rain", 1, 2))
    with refused(DataError):
        read_log(path, ["weather"])


def test_the_same_said_in_other_words_is_the_same(log):
    read = log("label,is_ood,predicted,alarm,monitor\n1,1,0,1,a\n1.0,TRUE,0.0,1,b\n")
    assert len(read.instances) == 1


@pytest.mark.parametrize("column", ["label", "is_ood", "category", "severity", "score"])
def test_any_optional_value_may_be_missing(log, column):
    rows = {
        "label": ("1", ""),
        "is_ood": ("0", ""),
        "category": ("noise", ""),
        "severity": ("1", ""),
        "score": ("1", ""),
    }
    first, second = rows[column]
    read = log(f"predicted,alarm,{column}\n0,1,{first}\n0,1,{second}\n")
    records = judge(*read)
    assert {record["alarm_rate"] for record in records if record["monitor"] != "oracle"} == {1.0}
    json.dumps(records, allow_nan=False)


MOMENTS = [
    [20, 3, 10.5, 7],
    [2**62, 2**62 - 1, 2**62 - 3, 2**62 - 2],
    ["2026-11-19", "2026-11-18", "2025-01-01", "2026-11-17"],
    pd.to_datetime(["2026-11-19", "2026-11-18", "2025-01-01", "2026-11-17"]),
    pd.to_datetime(["2026-11-19", "2026-11-18", "2025-01-01", "2026-11-17"]).tz_localize("Asia/Tokyo"),
    pd.to_datetime(["2026-11-19", "2026-11-18", "2025-01-01", "2026-11-17"]).date,
    ["2026-11-19T10:00:00.5", "2026-11-19 10:00:00.4", "2026-11-18T00:00", "2026-11-19T10:00:00.300000001"],
    ["2026-11-19T10:00:00Z", "2026-11-19T11:30:00+02:00", "2026-11-18T23:00:00-01:00", "2026-11-19T09:00Z"],
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("moments", MOMENTS)
def test_times_of_any_kind_order_what_several_monitors_said(tmp_path, moments, suffix):
    table = pd.DataFrame({"predicted": range(4), "alarm": [True, False, False, True], "timestamp": moments})
    table = pd.concat([table.assign(monitor=name) for name in ("a", "b")])
    path = tmp_path / f"log{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    read = read_log(path)
    order = [1, 3, 2, 0] if moments is MOMENTS[0] else [2, 3, 1, 0]
    assert read.instances["predicted"].tolist() == order
    assert read.instances["timestamp"].is_monotonic_increasing
    alarm = read.alarms.set_index(["monitor", "position"])["alarm"]
    for name in ("a", "b"):
        assert [bool(alarm[name, place]) for place in range(4)] == [number in (0, 3) for number in order]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("ids", [list("wxyz"), [7, -2, 2**40, 0], [" w", "x ", "y", "z"]])
def test_the_order_of_rows_is_no_matter_where_they_have_ids(tmp_path, ids, suffix):
    told = pd.DataFrame({"id": ids, "predicted": [3, 1, 2, 1], "severity": [None, 2.5, None, 1.0]})
    said = [told.assign(monitor=name, alarm=[name == "b", True, False, True]) for name in ("b", "a")]
    straight = pd.concat(said, ignore_index=True)
    read = []
    for number, rows in enumerate([range(8), [0, 4, 1, 5, 2, 6, 3, 7], [0, 6, 1, 4, 2, 5, 7, 3]]):
        path = tmp_path / f"log-{number}{suffix}"
        table = straight.iloc[list(rows)]
        table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
        log = read_log(path)
        assert log.alarms["id"].tolist() == [str(each).strip() for each in table["id"]]
        read.append((log.instances, log.alarms.sort_values(["monitor", "position"], ignore_index=True)))
    for instances, alarms in read[1:]:
        pd.testing.assert_frame_equal(instances, read[0][0].assign(workload=instances["workload"]))
        pd.testing.assert_frame_equal(alarms, read[0][1])


def test_to_judge_less_is_kept(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("id,predicted,alarm,monitor\nx,0,1,b\ny,1,0,b\nx,0,0,a\ny,1,1,a\n")
    whole, lean = read_log(path), read_log(path, to_judge=True)
    assert "id" not in lean.alarms
    assert lean.alarms["monitor"].astype("str").tolist() == whole.alarms["monitor"].tolist()
    assert judge(*lean) == judge(*whole)
    whole.alarms.loc[0, "score"] = whole.instances.loc[0, "confidence"] = (
        0.5  # whoever wants to may change it
    )
