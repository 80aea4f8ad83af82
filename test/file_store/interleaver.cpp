// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "interleaver.hpp"

#include <algorithm>

#include <sys/random.h>

namespace tenure::test
{

void Interleaver::add(std::function<void()> function)
{
    auto& actor = *actors_.emplace_back(std::make_unique<Actor>());
    actor.thread = std::jthread([&actor, function = std::move(function)] {
        actor.go.acquire();
        {
            AtPoints const stops([&actor](Point) {
                actor.stopped.release();
                actor.go.acquire();
            });
            function();
        }
        actor.over = true;
        actor.stopped.release();
    });
}

void Interleaver::step(std::size_t actor)
{
    actors_[actor]->go.release();
    actors_[actor]->stopped.acquire();
}

bool Interleaver::over() const noexcept
{
    return std::ranges::all_of(actors_, [](auto const& actor) { return actor->over; });
}

void Interleaver::run(std::mt19937_64& random, std::function<void()> const& jump, std::function<void()> const& look)
{
    int jumps = 4;
    while (!over() || jumps > 0) {
        auto const next = random() % (size() + 1);
        if (next == size()) {
            if (jumps-- > 0)
                jump();
        } else if (!over(next)) {
            // several at once, so that the orders with few changes are not rare
            for (auto count = 1 + random() % 4; count > 0 && !over(next); --count)
                step(next);
        }
        look();
    }
}

void StandingRuntime::random_bytes(std::span<std::byte> bytes)
{
    static_cast<void>(::getrandom(bytes.data(), bytes.size(), 0));
}

} // namespace tenure::test
