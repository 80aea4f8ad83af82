// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// ReleaseMachine and TurnMachine alone, without a store: random events, and a model of the rules in their headers.
#include "small_world.hpp"

#include "random.hpp"
#include <engine/machines/release_machine.hpp>
#include <engine/machines/turn_machine.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

namespace tenure::simulation
{

using namespace backend; // NOLINT(google-build-using-namespace): it speaks of the seam all the time

namespace
{

using namespace std::chrono_literals;
using engine::Grace;
using engine::ReleaseMachine;
using engine::TurnMachine;
using std::chrono::milliseconds;

/** The clock, the random numbers and the outcome of both models. */
class Model
{
public:
    Model(Random& random, SmallOutcome& outcome)
        : random_(random)
        , outcome_(outcome)
    {
    }

protected:
    ~Model() = default;

    void demand(bool holds, std::string const& rule)
    {
        if (!holds && outcome_.violation.empty())
            outcome_.violation = rule;
    }
    [[nodiscard]] bool broken() const noexcept { return !outcome_.violation.empty(); }
    void trace(Instant when)
    {
        outcome_.trace = outcome_.trace * 0x100000001b3U ^ static_cast<std::uint64_t>(when.time_since_epoch().count());
    }
    void count(std::string_view what) { ++outcome_.counts[what]; }
    [[nodiscard]] milliseconds up_to(unsigned limit) { return milliseconds(random_.below(limit)); }

    Random& random_;
    Instant now_ = Instant{} + 1h;

private:
    SmallOutcome& outcome_;
};

/** One request from its first sending to its outcome. */
class ReleaseModel final : Model
{
public:
    ReleaseModel(Random& random, SmallOutcome& outcome)
        : Model(random, outcome)
        , keeps_(random.chance(3000))
        , began_(now_)
        , ends_(now_ + up_to(5000))
        , due_(now_)
    {
    }

    void run()
    {
        take(machine_.begin(std::chrono::duration_cast<milliseconds>(ends_ - began_), keeps_, now_));
        while (!machine_.ended() && !broken())
            pass();
    }

private:
    void pass()
    {
        auto const next = now_ + up_to(300);
        if (next >= wakes_) {
            now_ = std::max(now_, wakes_);
            bool const sends = now_ >= due_ && now_ < ends_;
            bool const tells = !told_ && now_ >= began_ + 1s && now_ < ends_;
            auto const step = machine_.tick(now_);
            demand(step.send == sends, "rules 3 to 5 of a release: it is sent at its time");
            demand(step.overdue == tells, "rule 2 of a release: its caller waits for a second, once");
            take(step);
            return;
        }
        now_ = next;
        switch (random_.below(10)) {
        case 0:
            due_ = unanswered_ == 0 ? now_ : std::max(now_, sent_ + 1s);
            take(machine_.reachable(now_));
            break;
        case 1:
            hurry();
            break;
        case 2:
            if (unanswered_ > 0)
                answer();
            break;
        default:
            if (unanswered_ > 0)
                fail();
        }
    }

    void take(ReleaseMachine::Step const& step)
    {
        trace(step.wake_at);
        if (step.give_up) {
            demand(now_ >= ends_ && !step.send && machine_.ended(), "rules 1 and 6 of a release: it ends at its time");
            count("given up");
            return;
        }
        told_ = told_ || step.overdue;
        if (step.send) {
            demand(now_ < ends_, "rule 1 of a release: nothing is sent after the expiry");
            count("sent");
            ++unanswered_;
            sent_ = now_;
            due_ = Instant::max();
        }
        wakes_ = step.wake_at;
        demand(
            wakes_ <= std::min({due_, ends_, told_ ? ends_ : began_ + 1s}), "rules 1 to 5 of a release: it wakes up");
    }

    void fail()
    {
        bool const may_take_effect = random_.chance(2000);
        --unanswered_;
        may_be_done_ = may_be_done_ || may_take_effect;
        due_ = std::min(due_, now_ + 10ms * (1 << std::min(failed_++, 6U)));
        take(machine_.failed(may_take_effect, now_));
    }

    void hurry()
    {
        auto const by = std::max(now_ + 250ms, began_ + 1s);
        auto const step = machine_.hurry(now_);
        demand(step.has_value() == (by < ends_), "rule 6 of a release: it ends soon");
        ends_ = std::min(ends_, by);
        demand(
            machine_.give_up_at() == ends_,
            "rule 6 of a release: it ends a second after its beginning, or 250 ms from now");
        if (step)
            take(*step);
    }

    void answer()
    {
        count("answered");
        if (random_.chance(5000)) {
            demand(machine_.confirmed() == ReleaseOutcome::released, "a release: the store has confirmed it");
            return;
        }
        bool const others = may_be_done_ || unanswered_ > 1;
        auto const outcome = machine_.disowned();
        if (keeps_ && may_be_done_)
            demand(outcome == ReleaseOutcome::unconfirmed, "rule 8 of a release: the key may have been kept before");
        else
            demand(
                outcome == (others ? ReleaseOutcome::released : ReleaseOutcome::was_lost),
                "rule 7 of a release: a loss only if no other request can have freed the key");
    }

    bool keeps_;
    ReleaseMachine machine_;
    Instant began_;
    /// when it gives up
    Instant ends_;
    /// when it is sent again
    Instant due_;
    Instant sent_{};
    Instant wakes_{};
    unsigned unanswered_ = 0;
    unsigned failed_ = 0;
    bool may_be_done_ = false;
    /// its caller no longer waits
    bool told_ = false;
};

/** The turns of one range. The head is what the world says it is. */
class TurnModel final : Model
{
public:
    TurnModel(Random& random, SmallOutcome& outcome)
        : Model(random, outcome)
        , keeps_line_(random.chance(8000))
        , machine_(keeps_line_, grace_)
    {
    }

    void run()
    {
        for (unsigned event = 0; event < 400 && !broken(); ++event) {
            now_ += up_to(3) == 0ms ? up_to(1500) : up_to(20);
            change_head();
            if (random_.chance(3000))
                hear(static_cast<WatchEvent>(random_.below(6)));
            else if (random_.chance(5000))
                claim();
            else
                release();
            auto const begins = machine_.turn_begins(now_).claim_at;
            demand(
                begins && (now_ < held_until_ ? begins == held_until_ : begins <= now_),
                "rule 11 of turns: a new head");
            open();
            demand(machine_.place_may_stay() == may_stay_, "rule 10 of turns: a place may stay behind");
        }
    }

private:
    void change_head()
    {
        grace_.claim_took(up_to(300));
        head_.exists = random_.chance(8000);
        head_.asks = head_.exists && random_.chance(4000);
        head_.holds_back = head_.exists && !head_.asks && random_.chance(3000);
    }

    [[nodiscard]] bool lines_up() const noexcept { return keeps_line_ && (hints_ || (!heard_ && lined_up_)); }
    [[nodiscard]] static bool at_once(std::optional<Instant> when, Instant now) { return when && *when <= now; }
    [[nodiscard]] bool in_grace(std::optional<Instant> when) const
    {
        return when && *when >= now_ + 10ms && *when <= now_ + 500ms;
    }

    void hear(WatchEvent event)
    {
        auto const step = machine_.news(event, head_, now_, random_.next());
        count("heard");
        switch (event) {
        case WatchEvent::in_force:
            heard_ = hints_ = true;
            demand(at_once(step.claim_at, now_), "rule 1 of turns: hints begin");
            break;
        case WatchEvent::hint:
            demand(at_once(step.claim_at, now_), "rule 1 of turns: a hint");
            break;
        case WatchEvent::our_turn:
            may_stay_ = may_stay_ || head_.asks || (placed_ > 1 && now_ < grace_.over_at(placed_at_, 0));
            placed_ = 0;
            named_ = head_.exists;
            demand(at_once(step.claim_at, now_), "rule 3 of turns: the store was named");
            break;
        case WatchEvent::others_turn:
            demand(
                head_.holds_back ? !step.claim_at : in_grace(step.claim_at),
                "rules 5 and 6 of turns: others were named");
            break;
        case WatchEvent::interrupted:
            demand(!step.claim_at, "rule 1 of turns: an interruption is no hint");
            break;
        case WatchEvent::unavailable:
            heard_ = true;
            hints_ = false;
            demand(step.leave_line == lined_up_, "rule 2 of turns: hints end, and the store leaves the line");
            break;
        }
    }

    void claim()
    {
        auto const place = machine_.next_place();
        auto const expected = !lines_up() ? Waits::no : named_ ? Waits::in_front : Waits::in_line;
        demand(place == expected, "rules 2 and 3 of turns: the place of a claim");
        lined_up_ = lined_up_ || lines_up();
        named_ = named_ && !lines_up();
        count("claims");
        switch (random_.below(4)) {
        case 0:
            machine_.claim_failed(place);
            named_ = named_ || place == Waits::in_front;
            break;
        case 1: {
            bool const to_head = random_.chance(5000);
            auto const step = machine_.granted(place, to_head);
            placed_ = place == Waits::in_line && !named_ ? 1 : 0;
            named_ = false;
            demand(to_head ? !step.claim_at : at_once(step.claim_at, now_), "rule 9 of turns: a grant");
            break;
        }
        case 2:
            may_stay_ = random_.chance(5000);
            machine_.gave_up(may_stay_);
            break;
        default:
            ++placed_;
            placed_at_ = now_;
            demand(machine_.placed(now_).leave_line == !lines_up(), "rule 2 of turns: a place without hints");
        }
    }

    void release()
    {
        count("releases");
        if (random_.chance(5000)) {
            machine_.release_begins(now_);
            ++releases_;
            return;
        }
        releases_ -= std::min(releases_, 1U);
        if (random_.chance(5000)) {
            bool const freed = random_.chance(5000);
            demand(
                machine_.release_ends(freed).claim_at.has_value() == freed,
                "rule 1 of turns: this process has freed a key");
            return;
        }
        auto const until = machine_.release_named_another(now_, random_.next()).claim_at;
        demand(in_grace(until), "rule 7 of turns: an own release named others");
        held_until_ = until.value_or(now_);
        contended_until_ = now_ + 2s;
    }

    void open()
    {
        auto const opens = machine_.opens_at(now_, random_.next());
        trace(opens.value_or(now_));
        if (releases_ > 0 && now_ < contended_until_)
            demand(
                opens == held_until_ || (in_grace(opens) && opens > held_until_), "rule 8 of turns: a new acquisition");
        else
            demand(now_ < held_until_ ? opens == held_until_ : !opens, "rule 7 of turns: a new acquisition");
    }

    bool keeps_line_;
    Grace grace_;
    TurnMachine machine_;
    TurnMachine::Head head_;
    /// hints began or ended
    bool heard_ = false;
    bool hints_ = false;
    bool lined_up_ = false;
    bool named_ = false;
    bool may_stay_ = false;
    /// claims that found all keys held since the last name or grant, and when the last one did
    unsigned placed_ = 0;
    Instant placed_at_;
    unsigned releases_ = 0;
    Instant held_until_ = Instant::min();
    Instant contended_until_ = Instant::min();
};

SmallOutcome run(std::uint64_t seed)
{
    SmallOutcome outcome;
    Random random(seed, 92);
    for (unsigned request = 0; request < 50; ++request)
        ReleaseModel(random, outcome).run();
    TurnModel(random, outcome).run();
    return outcome;
}

} // namespace

SmallLayer const small_layer{"machines", run};

} // namespace tenure::simulation
