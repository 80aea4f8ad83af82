// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "runtime/recycling_allocator.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace
{

template <std::size_t Size>
struct Sized {
    explicit Sized(unsigned char value) { bytes.fill(value); }
    [[nodiscard]] bool holds(unsigned char value) const { return bytes == Sized(value).bytes; }
    std::array<unsigned char, Size> bytes{};
};

/** Many objects of this size at a time, some of which go and come again meanwhile: none is laid over another. */
template <std::size_t Size>
void churn()
{
    std::vector<std::pair<unsigned char, std::shared_ptr<Sized<Size>>>> alive;
    for (unsigned round = 0; round < 400; ++round) {
        auto const value = static_cast<unsigned char>(round);
        alive.emplace_back(value, tenure::make_recycled<Sized<Size>>(value));
        if (round % 3 == 2)
            alive.erase(alive.begin() + static_cast<long>(round % alive.size()));
    }
    for (auto const& [value, object] : alive)
        REQUIRE(object->holds(value));
}

} // namespace

TEST_CASE("recycled objects of all sizes keep what was put into them")
{
    churn<1>();
    churn<40>();
    churn<100>();
    churn<500>();
    churn<740>();
    churn<2000>();
}

TEST_CASE("what one thread allocates another may free, and a thread may end with blocks to spare")
{
    std::vector<std::shared_ptr<Sized<200>>> objects;
    std::jthread([&] {
        for (unsigned char i = 0; i < 200; ++i)
            objects.push_back(tenure::make_recycled<Sized<200>>(i));
        objects.erase(objects.begin(), objects.begin() + 100);
    }).join();
    for (unsigned char i = 0; i < 100; ++i)
        REQUIRE(objects[i]->holds(static_cast<unsigned char>(100 + i)));
    objects.clear();
    churn<200>();
}
