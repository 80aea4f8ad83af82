// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Acquisition: its place, where the key is held in places.
#include "acquisition.hpp"

#include "core.hpp"
#include "lease_target.hpp"

#include <tenure/errc.hpp>

#include <utility>

namespace tenure::engine
{

void Acquisition::heard(WatchNews news)
{
    if (!handler_)
        return;
    auto const now = runtime_.now();
    auto const step = place_->machine.heard(news, terms_, now);
    if (step.grant)
        granted(*step.grant, machine_->asking(), now);
    else if (step.ask)
        claim_at(at_once);
}

Instant Acquisition::placed(Busy const& reply)
{
    if (reply.place) {
        note_number(reply.place->number);
        place_->machine.placed(*reply.place);
        // an earlier answer without a place no longer explains the end
        failed_with_.clear();
        return place_->machine.ask_by();
    }
    if (wait_ != milliseconds{0})
        record_error(
            make_error_code(errc::timed_out),
            range_->describe() + ": no place for this waiter: the key has 1,024 places already, a lock of another kind "
                                 "holds it, or claims are closed after a failover");
    return Instant::max();
}

void Acquisition::note_number(std::uint64_t number)
{
    if (place_->machine.lapsed(number))
        add_one(core_->counters().places_lost);
}

bool Acquisition::pass_on_place()
{
    auto* const heir = place_ ? place_->heir() : nullptr;
    if (heir == nullptr || !place_->machine.heritable(machine_->asking() || unknown_))
        return false;
    auto& next = heir->waiter;
    if (next.terms_.ttl != terms_.ttl || next.target_->owner_prefix() != target_->owner_prefix())
        return false;
    next.claim_ = std::move(claim_);
    next.earliest_attempt_ = earliest_attempt_;
    heir->machine.inherit(place_->machine);
    return true;
}

} // namespace tenure::engine
