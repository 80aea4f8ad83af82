// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "store/redis/wire/transaction.hpp"

#include <tenure/key_range.hpp>

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <utility>

namespace tenure::redis::resp
{

TEST_CASE("a transaction is its commands between MULTI and EXEC, and is copied as one command")
{
    auto const range = numbered_keys("pool:", 3);
    EncodedArguments draw;
    draw.add_all(std::string_view("EVALSHA"), std::string_view("sha"), 1);
    Transaction transaction(0);
    transaction.add("SET", KeyOf{*range, 2}, std::string("owner"), "PX", 5000);
    transaction.add(draw, std::string("counter"));
    transaction.add("PING");
    auto const command = std::move(transaction).end();
    auto const expected = Command("MULTI").encoded() + Command("SET", "pool:2", "owner", "PX", 5000).encoded() +
                          Command("EVALSHA", "sha", 1, "counter").encoded() + Command("PING").encoded() +
                          Command("EXEC").encoded();
    CHECK(command.encoded() == expected);
    CHECK(command.transaction_size() == 3);
    CHECK(command.expected_answers() == 5);
    auto const copy = command.copy();
    CHECK(copy.encoded() == expected);
    CHECK(copy.answer() == Command::Answer::transaction);
    CHECK(copy.expected_answers() == 5);
}

TEST_CASE("commands of any size fit into a transaction, and any number of them")
{
    std::string const key(3000, 'k');
    Transaction transaction(64);
    auto expected = Command("MULTI").encoded();
    for (int i = 0; i < 300; ++i) {
        transaction.add("SET", key, i);
        expected += Command("SET", key, i).encoded();
    }
    auto const command = std::move(transaction).end();
    CHECK(command.encoded() == expected + Command("EXEC").encoded());
    CHECK(command.expected_answers() == 302);
}

} // namespace tenure::redis::resp
