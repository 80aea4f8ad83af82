// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The rules of claim, renewal, release and eviction as a model: every interleaving of one holder, one claimer, one
// evictor and nine ticks of the clock. The design has no double holding; each of three shortcuts has some.
#include <catch2/catch_test_macros.hpp>

#include <compare>
#include <set>
#include <vector>

namespace
{

constexpr int ttl = 3;
constexpr int ended = 9;

enum class Shortcut { none, clock_after_cell, no_clock_after_write, evictor_copies_end };

/** What one actor has done so far, and what it has seen. */
struct Actor {
    int done = 0;
    int first = 0;
    int second = 0;
    friend auto operator<=>(Actor const&, Actor const&) = default;
};

struct State {
    int clock = 0;
    /// the holder's cell: when its claim ends
    int cell = ttl;
    /// 'h', 'c' or 'e': holder, claimer, evicted
    char record = 'h';
    /// the actor that has the lock, or ' '
    char lock = ' ';
    /// `first`: until when it relies on the key; `second`: the clock of a renewal
    Actor holder{0, ttl, 0};
    /// `first`: the clock; `second`: the end in the cell
    Actor claimer;
    /// `first`: the end in the cell
    Actor evictor;
    /// the end that the evictor has copied; -1: none
    int copied = -1;
    friend auto operator<=>(State const&, State const&) = default;
};

class Model
{
public:
    explicit Model(Shortcut shortcut)
        : shortcut_(shortcut)
    {
        todo_.push_back({});
        while (!todo_.empty()) {
            auto const state = todo_.back();
            todo_.pop_back();
            if (!seen_.insert(state).second)
                continue;
            if (state.clock < 9) {
                auto next = state;
                ++next.clock;
                todo_.push_back(next);
            }
            step_holder(state);
            step_claimer(state);
            step_evictor(state);
        }
    }

    [[nodiscard]] std::size_t states() const noexcept { return seen_.size(); }
    [[nodiscard]] int double_holdings() const noexcept { return found_; }

private:
    void step_holder(State next)
    {
        auto& [done, believed, began] = next.holder;
        if (done == 0) {
            // it may release instead: from here on it does not rely on the key
            auto releasing = next;
            releasing.holder = {4};
            todo_.push_back(releasing);
        }
        if (done == 0 && next.clock < 7)
            next.holder = next.clock < believed ? Actor{1, believed, next.clock} : Actor{ended};
        else if (done == 1) {
            next.cell = began + ttl;
            done = 2;
        } else if (done == 2)
            next.holder = next.clock < believed || shortcut_ == Shortcut::no_clock_after_write
                              ? Actor{3, believed, began}
                              : Actor{ended};
        else if (done == 3)
            next.holder = next.record == 'h' ? Actor{0, began + ttl} : Actor{ended};
        else if (done == 4)
            next.holder = next.record == 'h' ? Actor{5} : Actor{ended};
        else if (done == 5) {
            next.cell = 0; // its claim has ended
            next.holder = {ended};
        } else
            return;
        todo_.push_back(next);
    }

    void step_claimer(State next)
    {
        auto& [done, clock, end] = next.claimer;
        bool const late = shortcut_ == Shortcut::clock_after_cell;
        if (done == 0 && next.lock == ' ') {
            next.lock = 'c';
            done = 1;
        } else if (done == 1 || done == 2) {
            // the clock and then the cell, unless the shortcut is taken
            if ((done == 1) != late)
                clock = next.clock;
            else
                end = next.cell;
            ++done;
        } else if (done == 3) {
            next.lock = ' ';
            auto const until = next.record == 'e' && next.copied >= 0 ? next.copied : end;
            if (clock >= until) {
                if (next.holder.done != ended && next.holder.first > next.clock)
                    ++found_;
                next.record = 'c';
                next.claimer = {ended};
            } else
                next.claimer = {};
        } else
            return;
        todo_.push_back(next);
    }

    void step_evictor(State next)
    {
        auto& [done, end, unused] = next.evictor;
        static_cast<void>(unused);
        if (done == 0 && next.lock == ' ' && next.record == 'h') {
            next.lock = 'e';
            end = next.cell;
            done = 1;
        } else if (done == 1) {
            next.lock = ' ';
            if (next.record == 'h')
                next.record = 'e';
            next.copied = shortcut_ == Shortcut::evictor_copies_end ? end : -1;
            next.evictor = {ended};
        } else
            return;
        todo_.push_back(next);
    }

    Shortcut shortcut_;
    std::vector<State> todo_;
    std::set<State> seen_;
    int found_ = 0;
};

} // namespace

TEST_CASE("model: the rules have no double holding, and each shortcut has one", "[model]")
{
    Model const design(Shortcut::none);
    CHECK(design.double_holdings() == 0);
    CHECK(design.states() > 1000);
    CHECK(Model(Shortcut::clock_after_cell).double_holdings() > 0);
    CHECK(Model(Shortcut::no_clock_after_write).double_holdings() > 0);
    CHECK(Model(Shortcut::evictor_copies_end).double_holdings() > 0);
}
