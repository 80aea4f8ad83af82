// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace tenure::faults
{

/** Numbers that a seed decides, the same with every standard library. */
class Random
{
public:
    explicit Random(std::uint64_t seed)
        : engine_(seed)
    {
    }

    [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
    [[nodiscard]] bool one_in(std::uint64_t count) { return below(count) == 0; }
    [[nodiscard]] std::chrono::milliseconds between(std::chrono::milliseconds least, std::chrono::milliseconds most)
    {
        return least + std::chrono::milliseconds{below(static_cast<std::uint64_t>((most - least).count()) + 1)};
    }
    template <class Value>
    void shuffle(std::vector<Value>& values)
    {
        for (std::size_t left = values.size(); left > 1; --left)
            std::swap(values[left - 1], values[below(left)]);
    }

private:
    std::mt19937_64 engine_;
};

} // namespace tenure::faults
