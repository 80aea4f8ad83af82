// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "unit/fake_runtime.hpp"

#include <engine/keeper_agenda.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace
{

using std::chrono::milliseconds;
using tenure::Instant;
using tenure::engine::KeeperAgenda;
using tenure::engine::LeaseRecord;
using tenure::engine::LeaseRecordPtr;

Instant at(int when)
{
    return Instant{} + milliseconds(when);
}

LeaseRecordPtr make_record(std::shared_ptr<tenure::Runtime> const& runtime)
{
    auto claim = std::make_shared<tenure::Claim>();
    claim->range = tenure::named_key("key");
    claim->owner = "owner";
    tenure::engine::LeaseTerms terms;
    terms.ttl = milliseconds(1000);
    terms.renew_interval = milliseconds(333);
    tenure::Granted const granted{0, 0, terms.ttl, Instant{}, nullptr};
    return std::make_shared<LeaseRecord>(nullptr, runtime, std::move(claim), terms, granted, Instant{});
}

std::set<LeaseRecordPtr> as_set(std::vector<LeaseRecordPtr> const& records)
{
    return {records.begin(), records.end()};
}

} // namespace

TEST_CASE("whatever is added, moved and removed, the agenda knows the earliest and all that are due")
{
    auto const runtime = std::make_shared<tenure::test::FakeRuntime>();
    KeeperAgenda agenda;
    std::map<LeaseRecordPtr, int> expected;
    std::minstd_rand random(7);
    auto const any = [&] { return std::next(expected.begin(), static_cast<long>(random() % expected.size()))->first; };
    for (int step = 0; step < 5000; ++step) {
        auto const when = static_cast<int>(random() % 1000);
        auto const choice = random() % 10;
        if (expected.empty() || (choice < 3 && expected.size() < 60)) {
            auto const record = make_record(runtime);
            agenda.add(record, at(when));
            expected[record] = when;
        } else if (choice < 8) {
            auto const record = any();
            agenda.move(*record, at(when));
            expected[record] = when;
        } else {
            auto const record = any();
            REQUIRE(agenda.remove(*record) == record);
            expected.erase(record);
        }

        REQUIRE(agenda.empty() == expected.empty());
        std::set<LeaseRecordPtr> due;
        auto earliest = 1000;
        for (auto const& [record, instant] : expected) {
            REQUIRE(agenda.instant_of(*record) == at(instant));
            earliest = std::min(earliest, instant);
            if (instant <= 500)
                due.insert(record);
        }
        if (!expected.empty())
            REQUIRE(agenda.first() == at(earliest));
        auto const told = agenda.due_by(at(500));
        REQUIRE(told.size() == due.size());
        REQUIRE(as_set(told) == due);
        REQUIRE(agenda.all().size() == expected.size());
    }
}
