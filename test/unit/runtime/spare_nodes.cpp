// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include <runtime/spare_nodes.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace
{

using Spare = tenure::SpareNodes<std::shared_ptr<int>>;

} // namespace

TEST_CASE("elements stay in the order in which they were appended")
{
    Spare spare;
    Spare::List list;
    auto const first = spare.append(list, std::make_shared<int>(1));
    spare.append(list, std::make_shared<int>(2));
    CHECK(*spare.take(list, first) == 1);
    spare.append(list, std::make_shared<int>(3));
    std::vector<int> values;
    for (auto const& element : list)
        values.push_back(*element);
    CHECK(values == std::vector{2, 3});
}

TEST_CASE("an appended element reuses the node of a taken one, in any list")
{
    Spare spare;
    Spare::List one;
    Spare::List other;
    auto const position = spare.append(one, std::make_shared<int>(1));
    auto const* const node = &*position;
    spare.take(one, position);
    CHECK(one.empty());
    CHECK(spare.kept() == 1);
    CHECK(&*spare.append(other, std::make_shared<int>(2)) == node);
    CHECK(**node == 2);
    CHECK(spare.kept() == 0);
}

TEST_CASE("a spare node keeps no element alive")
{
    Spare spare;
    Spare::List list;
    auto const position = spare.append(list, std::make_shared<int>(1));
    std::weak_ptr<int> const watched = *position;
    spare.take(list, position);
    CHECK(watched.expired());
}

TEST_CASE("the memory of a crowd is not kept")
{
    Spare spare;
    Spare::List list;
    for (std::size_t i = 0; i < 2 * Spare::most_kept; ++i)
        spare.append(list, std::make_shared<int>(1));
    while (!list.empty())
        spare.take(list, list.begin());
    CHECK(spare.kept() == Spare::most_kept);
}
