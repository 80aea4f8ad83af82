// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Servers and proxies that refuse keys, transactions, messages or texts of scripts.
#include "unit/store/redis/backend_fixture.hpp"
#include "unit/store/redis/claim_fixture.hpp"

#include "store/redis/scripts/plain_form.hpp"
#include "store/redis/scripts/scripts.hpp"
#include "store/redis/shares/scripts.hpp"

#include "harness/expect_failure.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tenure::test
{

namespace
{

namespace scripts = redis::scripts;
namespace places = redis::place_scripts;
using namespace std::chrono_literals;

Value const no_key = Value::error("NOPERM this user has no permissions to access one of the keys used as arguments");
Value const bad_script = Value::error(
    "ERR bad lua script for redis cluster, all the keys that the script uses should be passed using the KEYS array");
std::string const other_store(32, 'a');

Value list(std::vector<Value> elements)
{
    return Value::list(Type::array, std::move(elements));
}

/** Releases on a server that is the test. */
struct ReleasesSetting : BackendFixture {
    ReleasesSetting()
    {
        auto const reply = ask_now(&Backend::claim, claim_of(named_key("first"), false));
        answer(Value::status("OK"));
        REQUIRE(reply->has_value());
        connection().sent.clear();
    }

    Answer<ReleaseReply> release(std::string key)
    {
        return ask_now(&Backend::release, ReleaseRequest{held(named_key(std::move(key))), runtime->now() + 5s, true});
    }
    [[nodiscard]] bool named_another(Answer<ReleaseReply> const& reply)
    {
        return std::get<Released>(reply->value()).named_another;
    }
};

bool declares_line(Words const& words)
{
    return std::ranges::find(words, "{job}:waiting") != words.end();
}

} // namespace

TEST_CASE("a claim that is refused because of the line is sent once more without", "[redis][strict]")
{
    ConnectedClaims test;
    auto request = test.request_for(named_key("job"));
    request.waits = Waits::in_line;
    auto const reply = test.claim(request);
    CHECK(declares_line(test.words(0)));
    SECTION("a user without permission uses no line until the next login, which is logged once")
    {
        test.answer(no_key);
        CHECK(test.words(1).at(1) == scripts::first_free().sha);
        CHECK_FALSE(declares_line(test.words(1)));
        CHECK(test.runtime->logged("may not use the line") == 0);
        test.answer(test.held_for_700ms());
        CHECK(std::get<Busy>(reply->value()).earliest_expiry == 700ms);
        CHECK(test.runtime->logged("may not use the line of waiters {job}:waiting") == 1);
        (void)test.claim(request);
        CHECK_FALSE(declares_line(test.words(2)));
        test.answer(test.held_for_700ms());
        test.connection().become(redis::ConnectionState::ready);
        (void)test.claim(request);
        CHECK(declares_line(test.words(3)));
        test.answer(no_key);
        test.answer(test.held_for_700ms());
        CHECK(test.runtime->logged("may not use the line") == 1);
    }
    SECTION("a line at another node is used by the next claim")
    {
        test.answer(Value::error("TRYAGAIN Multiple keys request during rehashing of slot"));
        CHECK_FALSE(declares_line(test.words(1)));
        test.answer(test.held_for_700ms());
        CHECK(test.runtime->logged("may not use the line") == 0);
        (void)test.claim(request);
        CHECK(declares_line(test.words(2)));
    }
    SECTION("a user without permission for the key itself is refused, and keeps the line")
    {
        test.answer(no_key);
        test.answer(no_key);
        CHECK(expect_refused(reply->value()).error == errc::permission_denied);
        CHECK(test.runtime->logged("may not use the line") == 0);
        CHECK(test.connection().unanswered() == 0);
        (void)test.claim(request);
        CHECK(declares_line(test.words(2)));
    }
}

TEST_CASE("a release that is refused because of the line is sent once more without, and published", "[redis][strict]")
{
    ReleasesSetting setting;
    auto const reply = setting.release("a");
    setting.answer(no_key);
    CHECK(setting.last() == Words{"EVALSHA", scripts::release().everywhere.sha, "1", "a", "me/1"});
    setting.answer(Value::text("1"));
    CHECK_FALSE(setting.named_another(reply));
    CHECK(setting.last() == Words{"PUBLISH", "{a}:free", "1"});
    CHECK(setting.runtime->logged("may not use the line of waiters {a}:waiting") == 1);
    setting.answer(Value::integer(0));
    (void)setting.release("b");
    CHECK(setting.last().at(2) == "1");
}

TEST_CASE("releases that are refused together because of a line are sent once more without", "[redis][strict]")
{
    ReleasesSetting setting;
    auto const limit = setting.runtime->now() + 5s;
    std::vector<BackendFixture::Answer<ReleaseReply>> replies;
    for (auto const* const key : {"z", "b", "a", "b"})
        replies.push_back(setting.ask(&Backend::release, ReleaseRequest{setting.held(named_key(key)), limit, true}));
    setting.runtime->run_ready();
    setting.answer(Value::text("1"));
    // ranges in order, and the line of each once
    CHECK(
        setting.words(1) == Words{
                                "EVALSHA", scripts::release_each().everywhere.sha, "7", "{a}:waiting", "{a}:watched",
                                "{b}:waiting", "{b}:watched", "a", "b", "b", "+", "me/1", "me/1", "me/1", "1", "2"});
    setting.answer(no_key);
    CHECK(
        setting.words(2) ==
        Words{"EVALSHA", scripts::release_each().everywhere.sha, "3", "a", "b", "b", "+", "me/1", "me/1", "me/1"});
    setting.answer(Value::text("101"));
    for (auto const& reply : replies)
        CHECK(reply->has_value());
    CHECK(
        std::holds_alternative<NotOwner>(replies[1]->value()) != std::holds_alternative<NotOwner>(replies[3]->value()));
    CHECK(setting.words(3) == Words{"PUBLISH", "{a}:free", "1"});
    CHECK(setting.words(4) == Words{"PUBLISH", "{b}:free", "1"});
    CHECK(setting.connection().sent.size() == 5);
}

TEST_CASE(
    "no request of a login is refused again after its first refusal of a script in a transaction", "[redis][strict]")
{
    ConnectedClaims test;
    // words that are not known: it is the place that tells
    auto const* const refusal = GENERATE("ERR internal error", "ERR EVALSHA is not allowed in a transaction");
    // refused, and sent after the first refusal of the login
    std::size_t refused = 0;
    std::size_t refused_again = 0;
    std::size_t sent_before_refusal = 0;
    std::vector<ClaimFixture::ReplyPtr> replies;
    auto const serve = [&] {
        for (int i = 0; i < 20; ++i)
            replies.push_back(test.claim("job" + std::to_string(i)));
        test.runtime->run_ready();
        auto& sent = test.connection().sent;
        while (test.connection().unanswered() > 0) {
            auto const open = std::ranges::find_if(sent, [](auto const& one) { return one.open; });
            if (open->words.at(0) == "MULTI") {
                if (refused++ == 0)
                    sent_before_refusal = sent.size();
                refused_again += static_cast<std::size_t>(open - sent.begin()) >= sent_before_refusal ? 1U : 0U;
                // each SET has six words
                test.connection().refused_command = (open->words.size() - 6) / 6;
                test.answer(Value::error(refusal));
            } else {
                CHECK(open->words.at(1) == scripts::first_free().sha);
                test.answer(test.array({Value::integer(0), Value::text("1700000000000001")}));
            }
        }
    };
    // two have left before the first answer
    replies.push_back(test.claim("first"));
    serve();
    serve();
    serve();
    CHECK(refused == 2);
    CHECK(refused_again == 0);
    test.connection().become(redis::ConnectionState::ready);
    refused = 0;
    serve();
    serve();
    CHECK(refused >= 1);
    CHECK(refused_again == 0);
    for (auto const& reply : replies)
        CHECK(std::holds_alternative<Granted>(reply->value()));
    CHECK(test.runtime->logged("does not run the transactions of claims") == 1);
}

TEST_CASE("a script that EXEC refuses is drawn alone, and not sent in a transaction again", "[redis][strict]")
{
    ConnectedClaims test;
    auto const reply = test.claim("a");
    test.runtime->run_ready();
    test.answer(test.executed({Value::status("OK")}, Value::error("ERR scripts do not run here")));
    CHECK(test.words(1).at(0) == "EVAL");
    test.answer(Value::text("1700000000000009"));
    CHECK(std::get<Granted>(reply->value()).fencing_token == 1'700'000'000'000'009U);
    (void)test.claim("b");
    test.runtime->run_ready();
    CHECK(test.words(2).at(1) == scripts::first_free().sha);
}

TEST_CASE("a transaction that is discarded for another cause is no refusal of scripts", "[redis][strict]")
{
    ConnectedClaims test;
    auto const reply = test.claim("a");
    test.runtime->run_ready();
    SECTION("without a refused command")
    {
        test.answer(Value::error("EXECABORT Transaction discarded because of previous errors."));
    }
    SECTION("because of a SET")
    {
        test.connection().refused_command = 0;
        test.answer(Value::error("ERR internal error"));
    }
    SECTION("because of the state of the server")
    {
        test.connection().refused_command = 1;
        test.answer(Value::error("OOM command not allowed when used memory > 'maxmemory'."));
    }
    CHECK(failed_as(reply->value(), Failure::Effect::refused));
    (void)test.claim("b");
    test.runtime->run_ready();
    CHECK(test.words(1).at(0) == "MULTI");
}

TEST_CASE("where scripts may not publish, the store publishes what they took from the line", "[redis][strict]")
{
    ReleasesSetting setting;
    auto const reply = setting.release("a");
    setting.answer(
        list({Value::text("1\n!ERR This Redis command is not allowed from script"), Value::text(other_store)}));
    CHECK(setting.named_another(reply));
    CHECK(setting.last() == Words{"PUBLISH", "{a}:free", other_store});
    CHECK(setting.runtime->logged("does not publish in scripts") == 1);
    setting.answer(Value::integer(1));

    auto const later = setting.release("b");
    CHECK(
        setting.last() ==
        Words{"EVALSHA", scripts::release().everywhere.sha, "3", "{b}:waiting", "{b}:watched", "b", "me/1", "-"});
    setting.answer(list({Value::text("1"), Value::text("1")}));
    CHECK_FALSE(setting.named_another(later));
    CHECK(setting.last() == Words{"PUBLISH", "{b}:free", "1"});
    SECTION("which may be refused as well")
    {
        setting.answer(Value::error("NOPERM this user has no permissions to run the 'publish' command"));
        CHECK(setting.runtime->logged("may not announce releases on {b}:free") == 1);
        (void)setting.release("c");
        CHECK(setting.last().at(2) == "1");
    }
    SECTION("a withdrawal does the same")
    {
        setting.answer(Value::integer(0));
        auto const withdrawn = setting.ask_now(
            &Backend::withdraw, WithdrawRequest{named_key("c"), "me/1", setting.runtime->now() + 1s, true});
        CHECK(setting.last().back() == "-");
        setting.answer(list({Value::text("1"), Value::text(other_store)}));
        CHECK(std::holds_alternative<Released>(withdrawn->value()));
        CHECK(setting.last() == Words{"PUBLISH", "{c}:free", other_store});
    }
    SECTION("nothing is published for a key that was not freed")
    {
        setting.answer(Value::integer(0));
        auto const lost = setting.release("c");
        auto const sent = setting.connection().sent.size();
        setting.answer(Value::text("0"));
        CHECK(std::holds_alternative<NotOwner>(lost->value()));
        CHECK(setting.connection().sent.size() == sent);
    }
}

TEST_CASE("a release that ends with an error of PUBLISH may have freed its key", "[redis][strict]")
{
    ReleasesSetting setting;
    auto const reply = setting.release("a");
    setting.answer(Value::error("ERR PUBLISH is not allowed from script script: 0a, on @user_script:1."));
    CHECK(failed_as(reply->value(), Failure::Effect::unknown));
    // the repetition does not publish in the script
    auto const again = setting.release("a");
    CHECK(setting.last().back() == "-");
    // other errors freed nothing
    setting.answer(Value::error("OOM command not allowed when used memory > 'maxmemory'."));
    CHECK(failed_as(again->value(), Failure::Effect::refused));
}

TEST_CASE("a server that checks the text of scripts gets plain ones from its first refusal on", "[redis][strict]")
{
    ReleasesSetting setting;
    auto const reply = setting.release("a");
    setting.answer(Value::error("NOSCRIPT No matching script. Please use EVAL."));
    CHECK(setting.last().at(1) == scripts::release().everywhere.text);
    setting.answer(bad_script);
    auto const& plain = *scripts::release().everywhere.plain;
    CHECK(setting.last() == Words{"EVALSHA", plain.sha, "3", "{a}:waiting", "{a}:watched", "a", "me/1", "-"});
    setting.answer(Value::error("NOSCRIPT No matching script. Please use EVAL."));
    CHECK(setting.last().at(1) == plain.text);
    setting.answer(list({Value::text("1"), Value::text(other_store)}));
    CHECK(setting.named_another(reply));
    CHECK(setting.last() == Words{"PUBLISH", "{a}:free", other_store});
    setting.answer(Value::integer(1));

    auto const claimed = setting.ask_now(&Backend::claim, setting.claim_of(numbered_keys("p", 2), false));
    CHECK(setting.last().at(1) == scripts::first_free().plain->sha);
    setting.answer(list({Value::integer(1), Value::text("")}));
    CHECK(std::holds_alternative<Granted>(claimed->value()));

    // a script for several releases would use several keys at once
    auto const sent = setting.connection().sent.size();
    for (auto const* const key : {"a", "b", "c"})
        static_cast<void>(setting.ask(
            &Backend::release, ReleaseRequest{setting.held(named_key(key)), setting.runtime->now() + 5s, true}));
    setting.runtime->run_ready();
    CHECK(setting.connection().sent.size() == sent + 3);
}

TEST_CASE("a script whose plain form is refused as well ends the request for good", "[redis][strict]")
{
    ReleasesSetting setting;
    auto const claimed = setting.ask_now(&Backend::claim, setting.claim_of(numbered_keys("p", 2), false));
    setting.answer(bad_script);
    setting.answer(bad_script);
    auto const& refused = expect_refused(claimed->value());
    CHECK(refused.error == errc::wrong_server);
    CHECK(refused.fatal);
    CHECK(setting.connection().unanswered() == 0);
}

TEST_CASE("the plain form of each script names one key in each command, and publishes nothing", "[redis][strict]")
{
    for (auto const* const script :
         {&scripts::draw(),
          &scripts::first_free(),
          &scripts::first_free_each(),
          &scripts::first_free_after_failover(),
          &scripts::first_free_each_after_failover(),
          &scripts::own_or_first_free_after_failover(),
          &scripts::find_own(),
          &scripts::own_or_first_free(),
          &scripts::survey(),
          &scripts::probe(),
          &scripts::renew(),
          &scripts::renew_noting_ttl(),
          &scripts::inspect(),
          &scripts::evict(),
          &scripts::detach(),
          &scripts::accept_token(),
          &scripts::release().everywhere,
          &scripts::release().in_shard,
          &scripts::withdraw().everywhere,
          &scripts::withdraw().in_shard,
          &scripts::notify_freed().everywhere,
          &scripts::notify_freed().in_shard,
          &scripts::line_up(),
          &places::claim().plain,
          &places::claim().delayed,
          &places::renew().plain,
          &places::renew().delayed,
          &places::leave().plain,
          &places::leave().delayed,
          &places::replace().plain,
          &places::replace().delayed}) {
        auto const& text = script->plain != nullptr ? script->plain->text : script->text;
        CAPTURE(text);
        CHECK(text.find("unpack(KEYS") == std::string::npos);
        CHECK(text.find("PUBLISH'") == std::string::npos);
        CHECK(redis::plain_form(text) == text);
        CHECK(text.size() < 12288);
    }
    CHECK(scripts::draw().plain == nullptr);
    CHECK(scripts::release().everywhere.plain != nullptr);
}

} // namespace tenure::test
